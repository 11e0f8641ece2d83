// Recorded provider streams as stream parts of the AI SDK: node parts.mjs <folder of the protocols> <folder to write to>
//
// Writes `<version>.<protocol>.<name of the recording>.jsonl`, one part a line as JSON.stringify gives it, and to
// `answers.jsonl` which package read it, what the AI SDK makes of the parts, and the error of a package that raised.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { answer } from "./answers.mjs";
import { VERSIONS, answering, framed, readerOf } from "./models.mjs";

const RECORDED = /\.(sse|jsonl|json)$/;

/** Names of files to who answered, as the corpus' manifest has it; empty if it has none. */
function providers(corpus) {
  const manifest = join(corpus, "MANIFEST.tsv");
  if (!existsSync(manifest)) {
    return new Map();
  }
  const [head, ...rows] = readFileSync(manifest, "utf8").split("\n").map((line) => line.split("\t"));
  return new Map(rows.map((row) => [row[head.indexOf("file")], row[head.indexOf("provider")]]));
}

/** [protocol, name of a recording] for all of them. */
function recordings(corpus) {
  const folders = readdirSync(corpus, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name: protocol }) => {
    const files = readdirSync(join(corpus, protocol)).filter((file) => RECORDED.test(file));
    return files.map((file) => [protocol, file]);
  });
}

/** Ids that the packages make are the same in every run. */
function seeded() {
  let state = 1;
  Math.random = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

async function read(version, reader, body) {
  const parts = [];
  let raised = "";
  try {
    const model = await answering(version, reader, body);
    const prompt = [{ role: "user", content: [{ type: "text", text: "?" }] }];
    const { stream } = await model.doStream({ prompt });
    for await (const part of stream) {
      parts.push(part);
    }
  } catch (error) {
    raised = `${error.name}: ${error.message}`;
  }
  return { parts, raised };
}

async function main(corpus, out) {
  mkdirSync(out, { recursive: true });
  const known = providers(corpus);
  const answers = [];
  for (const [protocol, name] of recordings(corpus)) {
    const body = framed(protocol, name, readFileSync(join(corpus, protocol, name)));
    for (const version of VERSIONS) {
      const reader = readerOf(protocol, known.get(`${protocol}/${name}`), version);
      if (reader !== undefined) {
        seeded();
        const { parts, raised } = await read(version, reader, body);
        const file = `${version}.${protocol}.${name}.jsonl`;
        writeFileSync(join(out, file), parts.map((part) => `${JSON.stringify(part)}\n`).join(""));
        const said = raised === "" ? await answer(version, parts) : {};
        answers.push(JSON.stringify({ file, version, protocol, name, reader, raised, ...said }));
      }
    }
  }
  writeFileSync(join(out, "answers.jsonl"), answers.map((line) => `${line}\n`).join(""));
}

await main(...process.argv.slice(2));
