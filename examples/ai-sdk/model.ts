// Stands in for a model of a provider: it answers with the prompt that it got.
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test';

const none = undefined;
const usage = {
  inputTokens: { total: 1, noCache: none, cacheRead: none, cacheWrite: none },
  outputTokens: { total: 1, text: none, reasoning: none },
};

export const model = new MockLanguageModelV3({
  doStream: async ({ prompt }) => ({
    stream: simulateReadableStream({
      chunks: [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: JSON.stringify(prompt) },
        { type: 'text-end', id: '1' },
        { type: 'finish', finishReason: { unified: 'stop', raw: none }, usage },
      ],
    }),
  }),
});
