// Which package of the AI SDK reads which recording, and the bytes that it gets for it.

import { EventStreamCodec } from "@smithy/eventstream-codec";
import { fromUtf8, toUtf8 } from "@smithy/util-utf8";

export const VERSIONS = ["v2", "v3", "v4"];

// A provider with a package of its own, by protocol and by the provider column of the manifest.
const CHAT = {
  deepseek: "deepseek",
  groq: "groq",
  mistral: "mistral",
  openai: "openai",
  perplexity: "perplexity",
  xai: "xai",
};

const settings = { apiKey: "none", baseURL: "http://provider.invalid" };
const MAKERS = {
  openai: (pack, more) => pack.createOpenAI(more).chat("model"),
  responses: (pack, more) => pack.createOpenAI(more).responses("model"),
  compatible: (pack, more) => pack.createOpenAICompatible({ ...more, name: "compatible" }).chatModel("model"),
  deepseek: (pack, more) => pack.createDeepSeek(more).languageModel("model"),
  groq: (pack, more) => pack.createGroq(more).languageModel("model"),
  mistral: (pack, more) => pack.createMistral(more).languageModel("model"),
  perplexity: (pack, more) => pack.createPerplexity(more).languageModel("model"),
  xai: (pack, more) => pack.createXai(more).chat("model"),
  anthropic: (pack, more) => pack.createAnthropic(more).languageModel("model"),
  google: (pack, more) => pack.createGoogleGenerativeAI(more).languageModel("model"),
  interactions: (pack, more) => pack.createGoogleGenerativeAI(more).interactions("model"),
  cohere: (pack, more) => pack.createCohere(more).languageModel("model"),
  bedrock: (pack, more) =>
    pack
      .createAmazonBedrock({ ...more, region: "us-east-1", accessKeyId: "none", secretAccessKey: "none", apiKey: undefined })
      .languageModel("model"),
};
// Where the model's maker lies in another package than its name says.
const PACKAGES = { responses: "openai", interactions: "google" };

/** The model's maker by its name, or undefined for a protocol that the AI SDK has no package for. */
export function readerOf(protocol, provider, version) {
  switch (protocol) {
    case "openai-chat":
      // xAI's package for the AI SDK 7 speaks the Responses API only.
      return provider === "xai" && version === "v4" ? "compatible" : (CHAT[provider] ?? "compatible");
    case "openai-responses":
      return "responses";
    case "anthropic":
      return "anthropic";
    case "gemini":
      return "google";
    case "gemini-interactions":
      return version === "v2" ? undefined : "interactions";
    case "bedrock-converse":
      return "bedrock";
    case "cohere-v2":
      return "cohere";
    default:
      return undefined;
  }
}

/** A language model of that version whose every request is answered with `body`. */
export async function answering(version, reader, body) {
  const pack = await import(`${PACKAGES[reader] ?? reader}-${version}`);
  const type = reader === "bedrock" ? "application/vnd.amazon.eventstream" : "text/event-stream";
  const fetch = async () => new Response(body, { status: 200, headers: { "content-type": type } });
  let made = 0;
  return MAKERS[reader](pack, { ...settings, fetch, generateId: () => `made-${made++}` });
}

/** The bytes that the provider sent: files of decoded events get their framing back. */
export function framed(protocol, name, bytes) {
  if (name.endsWith(".sse")) {
    // The packages discard an event that no blank line closes, and some recorders leave out the last one.
    return Buffer.concat([bytes, Buffer.from("\n\n")]);
  }
  const text = bytes.toString("utf8");
  const events = name.endsWith(".json")
    ? JSON.parse(text).map((event) => JSON.stringify(event))
    : text.split("\n").filter((line) => line.trim());
  if (protocol === "bedrock-converse") {
    return Buffer.concat(events.map(frame));
  }
  return Buffer.from(events.map((event) => `data: ${event.trim()}\n\n`).join(""));
}

const codec = new EventStreamCodec(toUtf8, fromUtf8);

/** One event of Bedrock, recorded as `{"<type>": <payload>}`, as its binary frame. */
function frame(line) {
  const [[type, payload]] = Object.entries(JSON.parse(line));
  const string = (value) => ({ type: "string", value });
  return codec.encode({
    headers: {
      ":event-type": string(type),
      ":content-type": string("application/json"),
      ":message-type": string("event"),
    },
    body: fromUtf8(JSON.stringify(payload)),
  });
}
