// What the AI SDK itself makes of stream parts: its `streamText` reads them and puts the answer together.

globalThis.AI_SDK_LOG_WARNINGS = false;

/** Text, reasoning, tool calls, usage, finish reason and the number of errors, as `streamText` tells them. */
export async function answer(version, parts) {
  const { jsonSchema, streamText } = await import(`ai-${version}`);
  const names = parts.filter((part) => part.type === "tool-call").map((part) => part.toolName);
  const tools = Object.fromEntries(names.map((name) => [name, { inputSchema: jsonSchema({}), description: "any" }]));
  const model = {
    specificationVersion: version,
    provider: "recorded",
    modelId: "model",
    supportedUrls: {},
    doStream: async () => ({ stream: ReadableStream.from(parts) }),
  };
  const said = { text: "", reasoning: "", tools: [], usage: {}, metadata: {}, finish: "", errors: 0 };
  const result = streamText({ model, tools, prompt: "?", maxRetries: 0, onError: () => {} });
  for await (const part of result.fullStream) {
    switch (part.type) {
      case "text-delta":
        said.text += part.text;
        break;
      case "reasoning-delta":
        said.reasoning += part.text;
        break;
      case "tool-call":
        said.tools.push([part.toolCallId, part.toolName, part.input]);
        break;
      case "finish-step":
        said.usage = part.usage;
        said.metadata = part.providerMetadata;
        said.finish = part.finishReason;
        break;
      case "error":
        said.errors += 1;
        break;
    }
  }
  return said;
}
