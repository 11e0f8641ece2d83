#!lua name=runwire_1
--[[ The server's half of the broker protocol, version 1.

  Rules that every function here keeps:
  - Every key is declared, and all keys of one call carry the same hash tag.
  - All checks come before the first write, because the server does not roll back: a refusal, also one for wrong
    arguments, leaves the data set as it was. A commit writes the position last.
  - Only the server's clock is used. A time that lies too far ahead was written before that clock jumped back: it counts
    as passed.
  - Functions carry `allow-oom`: a full server refuses producers, while reading on, committing and trimming make room.
  - Lists that a caller may make long are never unpacked (Lua's limit is 7,999 values), and numbers become text only by
    `int` (Lua writes 1e+14 otherwise).
  - It is one file, because it is loaded, compared and released as one.
  - This code never changes once released: another protocol is another library, `runwire_2`, deployed before its callers.

  A lease is a hash without TTL, so that an epoch never repeats: o owner nonce, e epoch, x expiry in ms, a owners that
  vanished since the last commit, g set while a hand-over was not yet taken up, w and wx who wants it and until when,
  q the record that was set aside last, t the record that an owner is about to try alone.
  A position is two fields of a hash, <group> the last committed id and <group>:n how many records that makes. ]]

-- redis.call and string.format: not there yet while a library loads, and faster to reach as locals.
local call, format, entry_id

local function int(n) return format('%.0f', n) end

-- A count, size or time from the caller: digits only, exact in a Lua number. nil for anything else.
local function whole(text)
  if text and #text <= 15 and not string.find(text, '%D') then return tonumber(text) end
end

local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function bug(text) return redis.error_reply('ARGS ' .. text) end

-- Ids are digits without leading zeros, so length decides before text does: exact for numbers that Lua cannot hold.
local function digits_less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function id_less(a, b)
  local a_ms, a_n = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_n = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return digits_less(a_ms, b_ms) end
  return digits_less(a_n, b_n)
end

local function is_id(text) return text and #text <= 41 and string.find(text, '^%d+%-%d+$') ~= nil end

-- A lease is fenced by owner and epoch together: after a failover two owners may have the same epoch.
local function fence(lease, me, epoch)
  local h = call('HMGET', lease, 'o', 'e')
  if h[1] ~= me or h[2] ~= epoch then return {'FENCED', h[1] or '', h[2] or '0'} end
end

-- How many entries a stream ever had, and how many it has.
local function counted(stream)
  local added, length = 0, 0
  if call('EXISTS', stream) == 1 then
    local info = call('XINFO', 'STREAM', stream)
    for i = 1, #info, 2 do
      if info[i] == 'entries-added' then added = info[i + 1] elseif info[i] == 'length' then length = info[i + 1] end
    end
  end
  return added, length
end

-- A count that somebody removed counts from 0: the next take then reports what is missing.
local function consumed(text) return tonumber(text or '0') or 0 end

local function first_after(stream, id) return call('XRANGE', stream, '(' .. id, '+', 'COUNT', 1)[1] end

local function register(name, fn, flags)
  local function run(K, A)
    call, format = redis.call, string.format
    -- Whole numbers are formatted in less than half the time, where the server's Lua has them in 64 bits.
    entry_id = entry_id or (format('%d', 2 ^ 52) == '4503599627370496' and '%d-0' or '%.0f-0')
    return fn(K, A)
  end
  redis.register_function{function_name = name, callback = run, flags = flags}
end

local function library(name, fn) register(name, fn, {'allow-oom'}) end

local function reader(name, fn) register(name, fn, {'allow-oom', 'no-writes'}) end

--[[ rw_digest_1: which code this is, so that other code under the same name is noticed instead of used.
  Returns the SHA-256 of this file as shipped. ]]
reader('rw_digest_1', function() return '@DIGEST@' end)

--[[ rw_take_1: become the owner of a partition if nobody living is. Raises the epoch always, also for the same owner.
  KEYS lease, position, stream, evidence
  ARGV group, me, ttl_ms
  Returns {TAKEN, epoch, position, count, attempts, lost, reset} or {HELD, owner, epoch, left_ms}.
  HELD leaves the wish of `me` in the lease. `attempts`: owners that vanished since the last commit; a hand-over does not
  count. `lost`: records removed from the stream before this group read them; it stays until the group advances over
  them. `reset` 1: more was read than the stream ever had, so it was deleted and made anew; reading begins at its start,
  and an alarm stands in evidence. A group that is new here begins at the start. ]]
local RECREATED = '{"code":"records-trimmed-unread","class":"alarm","message":"The stream was deleted and made anew: '
  .. '%s records were read of it, it has had %s. Reading begins at its start","record":"%s","possibleCause":"stream-recreated"}'

library('rw_take_1', function(K, A)
  local group, me, ttl = A[1], A[2], whole(A[3])
  if #K ~= 4 or #A ~= 3 or group == '' or me == '' or not ttl then return bug('rw_take_1') end
  local h = call('HMGET', K[1], 'o', 'e', 'x', 'a', 'g')
  local t, owner = now(), h[1] or ''
  local left = (tonumber(h[3] or '0') or 0) - t
  if owner ~= '' and owner ~= me and left > 0 and left <= ttl * 2 then
    call('HSET', K[1], 'w', me, 'wx', int(t + ttl))
    return {'HELD', owner, h[2], left}
  end
  local added, length = counted(K[3])
  local p = call('HMGET', K[2], group, group .. ':n')
  local position, n, lost, reset = p[1], consumed(p[2]), 0, 0
  if not position then
    position, n = '0-0', added - length
  elseif n > added then
    call('XADD', K[4], '*', 'run', '', 'code', 'records-trimmed-unread',
      'd', format(RECREATED, int(n), int(added), position))
    position, n, reset = '0-0', added - length, 1
  else
    lost = math.max(0, added - length - n)
  end
  if not p[1] or reset == 1 then call('HSET', K[2], group .. ':n', int(n), group, position) end
  local attempts = tonumber(h[4] or '0') or 0
  if owner ~= '' and owner ~= me and h[5] ~= '1' then attempts = attempts + 1 end
  local epoch = call('HINCRBY', K[1], 'e', 1)
  call('HSET', K[1], 'o', me, 'x', int(t + ttl), 'a', int(attempts), 'g', '', 'w', '')
  return {'TAKEN', int(epoch), position, int(n), attempts, lost, reset}
end)

--[[ rw_renew_1: stay the owner. KEYS lease. ARGV me, epoch, ttl_ms.
  Returns {OK, wanted_by} ('' for nobody) or {FENCED, owner, epoch}. ]]
library('rw_renew_1', function(K, A)
  local ttl = whole(A[3])
  if #K ~= 1 or #A ~= 3 or not ttl then return bug('rw_renew_1') end
  local fenced = fence(K[1], A[1], A[2])
  if fenced then return fenced end
  local t = now()
  local w = call('HMGET', K[1], 'w', 'wx')
  local until_ms = tonumber(w[2] or '0') or 0
  call('HSET', K[1], 'x', int(t + ttl))
  if w[1] and until_ms > t and until_ms <= t + ttl * 2 then return {'OK', w[1]} end
  return {'OK', ''}
end)

--[[ rw_release_1: give a partition away. KEYS lease. ARGV me, epoch, ttl_ms, to ('' frees it).
  Returns {OK} or {FENCED, owner, epoch}. `to` holds it from now on; what was tried in vain stays counted. ]]
library('rw_release_1', function(K, A)
  local ttl = whole(A[3])
  if #K ~= 1 or #A ~= 4 or not ttl then return bug('rw_release_1') end
  local fenced = fence(K[1], A[1], A[2])
  if fenced then return fenced end
  local to = A[4]
  call('HINCRBY', K[1], 'e', 1)
  if to ~= '' then
    call('HSET', K[1], 'o', to, 'x', int(now() + ttl), 'g', '1', 'w', '')
  else
    call('HSET', K[1], 'o', '', 'x', '0', 'g', '', 'w', '')
  end
  return {'OK'}
end)

--[[ rw_commit_1: write what a batch of records came to, and move the position over it; or do nothing.
  KEYS 1 lease, 2 position, 3 raw, 4 chunks, 5 evidence, 6 open, 7 index, 8 expiring, 9 outbox, 10 holds,
    then for each run: its state, its log
  ARGV 1 group, 2 me, 3 epoch, 4 lease_ms, 5 log_ms, 6 tombstone_ms, 7 keep_ms, 8 evidence_max, 9 prev, 10 first, 11 last,
    12 records, 13 runs, 14 evidence, 15 events, 16 holds (how many of each),
    then for each run: run, attempt, base, deadline_ms (0 none), flags (o opened, e ended, oe, or -), blob, n, n chunks;
    for each evidence: run, code, JSON; for each event: JSON; for each hold: field, lowest raw id to keep ('' removes)
  Returns {OK, chunks}, or having written nothing:
    {FENCED, owner, epoch}     the lease is another's
    {MOVED, position}          the batch does not begin at the committed position: it was committed, or the data is older
    {SKIP, first_unread}       it does not begin at the first record after the position ('' where there is none)
    {GONE, id}                 its last record is not in the stream
    {STATE, key, stored}       a run's stored sequence is not the batch's base, or it has a log without state
    {ARGS, what}               the arguments do not fit together
  A state is a hash: s sequence, b blob, a attempt, d the deadline in `open`. ]]
local RUN_KEYS, RUN_ARGS = 11, 17
local FLAGS = {['-'] = true, o = true, e = true, oe = true}
-- `open` is written ahead by this part of the limit (at most a second), so that a busy run moves it now and then only.
local SLACK, SLACK_MAX = 0.1, 1000
-- What nobody published after so many is dropped from the events stream as well.
local OUTBOX_MAX = '100000'

local function check_records(stream, prev, first, last, count)
  if not (is_id(prev) and is_id(first) and is_id(last)) then return {'ARGS', 'ids'} end
  local records = whole(count)
  if not records or records < 1 or (records == 1) ~= (first == last) then return {'ARGS', 'records'} end
  local unread = first_after(stream, prev)
  if not unread or unread[1] ~= first then return {'SKIP', unread and unread[1] or ''} end
  if first ~= last and not call('XRANGE', stream, last, last)[1] then return {'GONE', last} end
end

-- Is the run's stored sequence the one that the caller built upon? The first
-- attempt and each later one begin at 0 with a log of their own.
local function check_run(state, log, attempt, base)
  local h = call('HMGET', state, 's', 'a', 'd')
  local length = call('XLEN', log)
  if not h[1] or h[2] ~= attempt then
    local follows = tonumber(attempt) == (tonumber(h[2] or '0') or 0) + 1
    if base ~= '0' or length ~= 0 or not follows then return nil, {'STATE', state, h[1] or ''} end
  elseif h[1] ~= base or length > tonumber(base) then
    return nil, {'STATE', state, h[1]}
  end
  return h
end

local function check_runs(K, A, runs)
  local i, k, stored, total = RUN_ARGS, RUN_KEYS, {}, 0
  for _ = 1, runs do
    local state, log, n = K[k], K[k + 1], whole(A[i + 6])
    if not log or not n or not whole(A[i + 1]) or not whole(A[i + 2]) or not whole(A[i + 3]) or not FLAGS[A[i + 4]]
      or A[i] == '' or stored[state] or not A[i + 6 + n] then return nil, {'ARGS', state or 'runs'} end
    local found, refusal = check_run(state, log, A[i + 1], A[i + 2])
    if refusal then return nil, refusal end
    stored[state] = found
    total, i, k = total + n, i + 7 + n, k + 2
  end
  if k ~= #K + 1 then return nil, {'ARGS', 'keys'} end
  return i, nil, total, stored
end

-- Touch what will be written, so that a key of a wrong type fails here and not half way.
local function check_types(K, total, runs, evidence, events, holds)
  if total > 0 then call('XLEN', K[4]) end
  if evidence > 0 then call('XLEN', K[5]) end
  if runs > 0 then
    call('ZCARD', K[6])
    call('ZCARD', K[7])
    call('ZCARD', K[8])
  end
  if events > 0 then call('XLEN', K[9]) end
  if holds > 0 then call('HLEN', K[10]) end
end

local function check_holds(A, i, holds)
  for j = i, i + 2 * holds - 1, 2 do
    if A[j] == '' or not (A[j + 1] == '' or is_id(A[j + 1])) then return {'ARGS', 'holds'} end
  end
end

-- The time that `open` must name from now on, nil where it may stay as it is; 0 takes the run out.
local function new_deadline(deadline, stored, t)
  stored = tonumber(stored or '0') or 0
  if deadline == 0 then return stored ~= 0 and 0 or nil end
  local due, slack = t + deadline, math.min(math.floor(deadline * SLACK), SLACK_MAX)
  if stored < due or stored > due + slack then return due + slack end
end

-- A state's fields change at different times, and each costs: attempt and deadline are written when they do.
local function write_state(K, state, run, attempt, seq, blob, deadline, stored, t)
  local due = new_deadline(deadline, stored[3], t)
  if due then
    local score = int(due)
    call('HSET', state, 's', seq, 'b', blob, 'a', attempt, 'd', score)
    if due == 0 then call('ZREM', K[6], run) else call('ZADD', K[6], score, run) end
  elseif stored[2] == attempt then
    call('HSET', state, 's', seq, 'b', blob)
  else
    call('HSET', state, 's', seq, 'b', blob, 'a', attempt)
  end
  if stored[2] and stored[2] ~= attempt then call('PERSIST', state) end
end

local function write_end(K, A, state, log, run, n, t)
  call('PEXPIRE', state, A[6])
  if n > 0 then
    call('PEXPIRE', log, A[5])
    call('ZADD', K[8], int(t + A[5]), run)
  end
end

local function write_run(K, A, i, k, stored, t)
  local run, attempt, base, flags, n = A[i], A[i + 1], tonumber(A[i + 2]), A[i + 4], tonumber(A[i + 6])
  local state, log, first, pack = K[k], K[k + 1], i + 6, {}
  for j = 1, n do
    local chunk = A[first + j]
    pack[j] = chunk
    call('XADD', log, format(entry_id, base + j), 'd', chunk)
  end
  local seq = int(base + n)
  write_state(K, state, run, attempt, seq, A[i + 5], tonumber(A[i + 3]), stored[state], t)
  if n > 0 then call('XADD', K[4], '*', 'run', run, 'attempt', attempt, 'seq', seq, 'd', cmsgpack.pack(pack)) end
  if flags == 'o' or flags == 'oe' then call('ZADD', K[7], 'NX', int(t), run) end
  if flags == 'e' or flags == 'oe' then write_end(K, A, state, log, run, n, t) end
  return i + 7 + n
end

local function write_hold(K, A, j, t)
  if A[j + 1] == '' then
    call('HDEL', K[10], A[j])
  elseif string.sub(A[j], 1, 5) == 'keep:' then
    call('HSET', K[10], A[j], A[j + 1] .. ' ' .. int(t + A[7]))
  else
    call('HSET', K[10], A[j], A[j + 1])
  end
end

library('rw_commit_1', function(K, A)
  for j = 4, 8 do if (whole(A[j]) or 0) < 1 then return {'ARGS', 'times'} end end
  local runs, evidence, events, holds = whole(A[13]), whole(A[14]), whole(A[15]), whole(A[16])
  if not (runs and evidence and events and holds) then return {'ARGS', 'counts'} end
  local refusal = fence(K[1], A[2], A[3])
  if refusal then return refusal end
  local p = call('HMGET', K[2], A[1], A[1] .. ':n')
  if p[1] ~= A[9] then return {'MOVED', p[1] or ''} end
  refusal = check_records(K[3], A[9], A[10], A[11], A[12])
  if refusal then return refusal end
  local i, refused, total, stored = check_runs(K, A, runs)
  if refused then return refused end
  if i + 3 * evidence + events + 2 * holds ~= #A + 1 then return {'ARGS', 'count'} end
  refusal = check_holds(A, i + 3 * evidence + events, holds)
  if refusal then return refusal end
  check_types(K, total, runs, evidence, events, holds)

  local t, count = now(), int(consumed(p[2]) + A[12])
  i = RUN_ARGS
  for j = 0, runs - 1 do i = write_run(K, A, i, RUN_KEYS + 2 * j, stored, t) end
  for _ = 1, evidence do
    call('XADD', K[5], 'MAXLEN', '~', A[8], '*', 'run', A[i], 'code', A[i + 1], 'd', A[i + 2])
    i = i + 3
  end
  for _ = 1, events do
    call('XADD', K[9], 'MAXLEN', '~', OUTBOX_MAX, '*', 'd', A[i])
    i = i + 1
  end
  for j = i, i + 2 * holds - 1, 2 do write_hold(K, A, j, t) end
  call('HSET', K[1], 'x', int(t + A[4]), 'a', '0')
  call('HSET', K[2], A[1] .. ':n', count, A[1], A[11])
  return {'OK', total}
end)

--[[ rw_settle_1: write what a downstream group made of a batch of its stream into hashes of its own, and move the position
  over it; or do nothing. What it sent to other partitions is there already: sent again, it is recognized.
  KEYS 1 lease, 2 position, 3 stream, 4 evidence, then each hash that is written
  ARGV 1 group, 2 me, 3 epoch, 4 lease_ms, 5 evidence_max, 6 prev, 7 first, 8 last, 9 records, 10 evidence (how many),
    then for each hash: fresh (1 empties it first, else 0), ttl_ms (0 leaves its expiry), n, n names and values;
    for each evidence: run, code, JSON
  Returns {OK, hashes}, or having written nothing {FENCED, …}, {MOVED, …}, {SKIP, …}, {GONE, …}, {ARGS, …} as rw_commit_1.
  Such hashes change in the same step as the position and never else, so they need no guard of their own. ]]
local SETTLE_KEYS, SETTLE_ARGS = 4, 11

local function check_hashes(K, A)
  local i, seen = SETTLE_ARGS, {}
  for k = SETTLE_KEYS + 1, #K do
    local n = whole(A[i + 2])
    if not n or n % 2 ~= 0 or not whole(A[i + 1]) or not (A[i] == '0' or A[i] == '1') or seen[K[k]]
      or not A[i + 2 + n] then return nil, {'ARGS', K[k]} end
    -- A key of another type fails here and not half way.
    call('HLEN', K[k])
    seen[K[k]] = true
    i = i + 3 + n
  end
  return i
end

local function write_hash(key, A, i)
  if A[i] == '1' then call('DEL', key) end
  local n = tonumber(A[i + 2])
  for j = i + 3, i + 2 + n, 2 do call('HSET', key, A[j], A[j + 1]) end
  if A[i + 1] ~= '0' then call('PEXPIRE', key, A[i + 1]) end
  return i + 3 + n
end

library('rw_settle_1', function(K, A)
  local lease_ms, evidence_max, evidence = whole(A[4]), whole(A[5]), whole(A[10])
  if #K < SETTLE_KEYS or not (lease_ms and evidence_max and evidence) or evidence_max < 1 then return {'ARGS', 'counts'} end
  local refusal = fence(K[1], A[2], A[3])
  if refusal then return refusal end
  local p = call('HMGET', K[2], A[1], A[1] .. ':n')
  if p[1] ~= A[6] then return {'MOVED', p[1] or ''} end
  refusal = check_records(K[3], A[6], A[7], A[8], A[9])
  if refusal then return refusal end
  local i, refused = check_hashes(K, A)
  if refused then return refused end
  if i + 3 * evidence ~= #A + 1 then return {'ARGS', 'count'} end
  if evidence > 0 then call('XLEN', K[4]) end

  local count = int(consumed(p[2]) + A[9])
  i = SETTLE_ARGS
  for k = SETTLE_KEYS + 1, #K do i = write_hash(K[k], A, i) end
  for j = i, #A, 3 do call('XADD', K[4], 'MAXLEN', '~', A[5], '*', 'run', A[j], 'code', A[j + 1], 'd', A[j + 2]) end
  call('HSET', K[1], 'x', int(now() + lease_ms), 'a', '0')
  call('HSET', K[2], A[1] .. ':n', count, A[1], A[8])
  return {'OK', #K - SETTLE_KEYS}
end)

--[[ rw_nest_1: what is known of a run's nesting, and who claims it while nothing is known.
  KEYS nest, claim, state. ARGV the fields of nest that are wanted, its blob first.
  Returns {claim, state blob, value…}. The claim and the state of the run, which tells who really writes it, come only
  where the nest has no blob, and the state only if there is a claim: states may be large. ]]
reader('rw_nest_1', function(K, A)
  if #K ~= 3 or #A < 1 then return bug('rw_nest_1') end
  local reply = {false, false}
  for i = 1, #A do reply[i + 2] = call('HGET', K[1], A[i]) end
  if not reply[3] then
    reply[1] = call('HGET', K[2], 'd')
    if reply[1] then reply[2] = call('HGET', K[3], 'b') end
  end
  return reply
end)

--[[ rw_advance_1: move the position of a group whose effects lie outside this server, after they are there.
  KEYS lease, position. ARGV group, me, epoch, ttl_ms, prev, last, records.
  Returns {OK}, {FENCED, owner, epoch} or {MOVED, position}.
  With last = prev it only counts records that can never be read, which proves nothing about the owner. ]]
library('rw_advance_1', function(K, A)
  local ttl, records = whole(A[4]), whole(A[7])
  if #K ~= 2 or #A ~= 7 or not ttl or not records or not is_id(A[6]) then return bug('rw_advance_1') end
  local fenced = fence(K[1], A[2], A[3])
  if fenced then return fenced end
  local p = call('HMGET', K[2], A[1], A[1] .. ':n')
  if p[1] ~= A[5] then return {'MOVED', p[1] or ''} end
  local count = int(consumed(p[2]) + records)
  call('HSET', K[1], 'x', int(now() + ttl))
  if A[5] ~= A[6] then call('HSET', K[1], 'a', '0') end
  call('HSET', K[2], A[1] .. ':n', count, A[1], A[6])
  return {'OK'}
end)

--[[ rw_trim_1: drop records that nobody needs any more, and tell how far each group is.
  KEYS stream, position, and for raw holds. ARGV horizon_ms (newer ones stay), limit, keep_ms.
  Returns {removed, entries_added, length, group, position, count, …}.
  Everything below the lowest of all groups' positions, the horizon and the holds goes. A group that never read blocks
  trimming by design. A `keep:` hold lapses at its time. ]]
local function lapsed(value, t, keep)
  local until_ms = tonumber(string.match(value, ' (%d+)$'))
  return until_ms and (until_ms <= t or until_ms > t + 2 * keep)
end

local function lowest_hold(holds, min, t, keep)
  local h = call('HGETALL', holds)
  for i = 1, #h, 2 do
    local id = string.match(h[i + 1], '^%d+%-%d+')
    if lapsed(h[i + 1], t, keep) then
      call('HDEL', holds, h[i])
    elseif id and id_less(id, min) then
      min = id
    end
  end
  return min
end

library('rw_trim_1', function(K, A)
  local horizon, limit, keep = whole(A[1]), whole(A[2]), whole(A[3])
  if #K < 2 or #K > 3 or #A ~= 3 or not (horizon and limit and keep) then return bug('rw_trim_1') end
  local t = now()
  local min = int(math.max(0, t - horizon)) .. '-0'
  local groups, out = call('HGETALL', K[2]), {}
  local counts = {}
  for i = 1, #groups, 2 do counts[groups[i]] = groups[i + 1] end
  for i = 1, #groups, 2 do
    local group, id = groups[i], groups[i + 1]
    if is_id(id) and counts[group .. ':n'] then
      out[#out + 1], out[#out + 2], out[#out + 3] = group, id, counts[group .. ':n']
      if id_less(id, min) then min = id end
    end
  end
  if K[3] then min = lowest_hold(K[3], min, t, keep) end
  local removed = 0
  if call('EXISTS', K[1]) == 1 then removed = call('XTRIM', K[1], 'MINID', '~', min, 'LIMIT', A[2]) end
  local added, length = counted(K[1])
  local reply = {removed, added, length}
  for i = 1, #out do reply[i + 3] = out[i] end
  return reply
end)

--[[ rw_beat_1: a heartbeat. KEYS members. ARGV me, ttl_ms. Returns {stale, member…}.
  `stale` 1: this member's own last heartbeat was too old, so it does not judge others (the server was paused, perhaps). ]]
library('rw_beat_1', function(K, A)
  local ttl = whole(A[2])
  if #K ~= 1 or #A ~= 2 or A[1] == '' or not ttl then return bug('rw_beat_1') end
  local t = now()
  local mine = tonumber(call('ZSCORE', K[1], A[1]) or '0')
  local stale = t - mine > ttl or mine - t > ttl
  call('ZADD', K[1], int(t), A[1])
  if not stale then
    call('ZREMRANGEBYSCORE', K[1], '-inf', '(' .. int(t - ttl))
    call('ZREMRANGEBYSCORE', K[1], '(' .. int(t + ttl), '+inf')
  end
  local members = call('ZRANGE', K[1], 0, -1)
  table.insert(members, 1, stale and 1 or 0)
  return members
end)

--[[ rw_due_1: runs whose deadline has passed. KEYS open. ARGV limit. Returns {run…}, the longest due first. ]]
reader('rw_due_1', function(K, A)
  if #K ~= 1 or #A ~= 1 or not whole(A[1]) then return bug('rw_due_1') end
  return call('ZRANGEBYSCORE', K[1], '-inf', int(now()), 'LIMIT', 0, A[1])
end)

--[[ rw_timeout_1: let the passing of time enter as records.
  KEYS lease, raw, open. ARGV me, epoch, retry_ms, then for each run: run, body of its control record.
  Returns {OK, written} or {FENCED, owner, epoch}.
  A run that is no longer due is left out. One that is gets its next look after retry_ms. ]]
library('rw_timeout_1', function(K, A)
  local retry = whole(A[3])
  if #K ~= 3 or not retry or #A % 2 ~= 1 then return bug('rw_timeout_1') end
  local fenced = fence(K[1], A[1], A[2])
  if fenced then return fenced end
  local t, written = now(), 0
  call('XLEN', K[2])
  for i = 4, #A, 2 do
    local due = tonumber(call('ZSCORE', K[3], A[i]) or 'inf')
    if due and due <= t then
      call('XADD', K[2], '*', 'run', A[i], 'kind', 'control', 'src', '~enforcer', 'body', A[i + 1])
      call('ZADD', K[3], 'XX', int(t + retry), A[i])
      written = written + 1
    end
  end
  return {'OK', written}
end)

--[[ rw_suspect_1: note which record is tried next, alone: if its reader vanishes, this is who is to blame.
  KEYS lease. ARGV me, epoch, record. Returns {OK} or {FENCED, owner, epoch}. ]]
library('rw_suspect_1', function(K, A)
  if #K ~= 1 or #A ~= 3 or not is_id(A[3]) then return bug('rw_suspect_1') end
  local fenced = fence(K[1], A[1], A[2])
  if fenced then return fenced end
  call('HSET', K[1], 't', A[3])
  return {'OK'}
end)

--[[ rw_alarm_1: evidence of the runtime itself, outside any commit. A full server must not keep it back.
  KEYS evidence. ARGV evidence_max, run ('' is none), code, evidence. Returns {OK}. ]]
library('rw_alarm_1', function(K, A)
  if #K ~= 1 or #A ~= 4 or (whole(A[1]) or 0) < 1 then return bug('rw_alarm_1') end
  call('XADD', K[1], 'MAXLEN', '~', A[1], '*', 'run', A[2], 'code', A[3], 'd', A[4])
  return {'OK'}
end)

--[[ rw_quarantine_1: put on record that the next record crashes its reader and is set aside. Once for each record.
  KEYS lease, position, raw. ARGV group, me, epoch, record, run, body of the control record.
  Returns {OK}, {FENCED, owner, epoch}, or {MOVED, position} if the record is not the first after the position. ]]
library('rw_quarantine_1', function(K, A)
  if #K ~= 3 or #A ~= 6 or not is_id(A[4]) or A[5] == '' then return bug('rw_quarantine_1') end
  local fenced = fence(K[1], A[2], A[3])
  if fenced then return fenced end
  local position = call('HGET', K[2], A[1]) or '0-0'
  local unread = first_after(K[3], position)
  if not unread or unread[1] ~= A[4] then return {'MOVED', position} end
  if call('HGET', K[1], 'q') ~= A[4] then
    call('XADD', K[3], '*', 'run', A[5], 'kind', 'control', 'src', '~enforcer', 'body', A[6])
    call('HSET', K[1], 'q', A[4])
  end
  return {'OK'}
end)

--[[ rw_keep_1: copy raw records of a violated run aside.
  KEYS lease, holds, kept. ARGV me, epoch, run, ttl_ms, done (1 or 0), then for each entry: id, n, n names and values.
  Returns {OK, copied} or {FENCED, owner, epoch}.
  Entries come in order; those that are there already are left out, so a new owner may begin again. `done` lets go of the
  raw records. The copy carries its TTL from the first entry on. ]]
local FIELDS_MAX = 1000

local function check_entries(A, i)
  while A[i] do
    local n = whole(A[i + 1])
    if not is_id(A[i]) or not n or n < 2 or n % 2 ~= 0 or n > FIELDS_MAX or not A[i + 1 + n] then return false end
    i = i + 2 + n
  end
  return true
end

library('rw_keep_1', function(K, A)
  if #K ~= 3 or not whole(A[4]) or not (A[5] == '0' or A[5] == '1') or not check_entries(A, 6) then
    return bug('rw_keep_1')
  end
  local fenced = fence(K[1], A[1], A[2])
  if fenced then return fenced end
  call('XLEN', K[3])
  call('HLEN', K[2])
  local last = call('XREVRANGE', K[3], '+', '-', 'COUNT', 1)[1]
  last = last and last[1] or '0-0'
  local i, copied = 6, 0
  while A[i] do
    local n = tonumber(A[i + 1])
    if id_less(last, A[i]) then
      call('XADD', K[3], A[i], unpack(A, i + 2, i + 1 + n))
      last, copied = A[i], copied + 1
    end
    i = i + 2 + n
  end
  call('PEXPIRE', K[3], A[4])
  if A[5] == '1' then call('HDEL', K[2], 'keep:' .. A[3]) end
  return {'OK', copied}
end)

--[[ rw_expire_1: let the lists of runs forget what has expired.
  KEYS expiring, index, evidence. ARGV limit, evidence_ms.
  Returns {runs, evidence}: how many of each went. ]]
library('rw_expire_1', function(K, A)
  local age = whole(A[2])
  if #K ~= 3 or #A ~= 2 or not whole(A[1]) or not age then return bug('rw_expire_1') end
  local t = now()
  local runs = call('ZRANGEBYSCORE', K[1], '-inf', int(t), 'LIMIT', 0, A[1])
  for i = 1, #runs do
    call('ZREM', K[2], runs[i])
    call('ZREM', K[1], runs[i])
  end
  local gone = 0
  -- Exact: a sparse evidence stream would keep up to a whole node of old entries for ever.
  if call('EXISTS', K[3]) == 1 then gone = call('XTRIM', K[3], 'MINID', int(math.max(0, t - age)) .. '-0') end
  return {#runs, gone}
end)
