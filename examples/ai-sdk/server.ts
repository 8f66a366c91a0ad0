// A chat backend with the AI SDK: the answer is streamed, and an ad comes as a data part beside it.
// The model never reads an ad. Start it with
//   ADNET_URL=https://ads.example.com ADNET_KEY=pub_… PORT=3000 npx tsx server.ts
import { createServer, type IncomingMessage } from 'node:http';
import { Adnet } from '@adnet/sdk';
import { adMessages, withoutAds, writeAd, type AdData } from '@adnet/sdk/ai-sdk';
import {
  convertToModelMessages,
  createUIMessageStream,
  pipeUIMessageStreamToResponse,
  streamText,
  type UIMessage,
} from 'ai';
import { model } from './model.js'; // put your provider's here, as openai("gpt-5")

type ChatMessage = UIMessage<unknown, AdData>;

const adnet = new Adnet({ key: process.env.ADNET_KEY ?? '', url: process.env.ADNET_URL ?? '' });

async function conversation(
  request: IncomingMessage,
): Promise<{ id: string; messages: ChatMessage[] }> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return JSON.parse(body);
}

createServer(async (request, response) => {
  const { id, messages } = await conversation(request);
  const history = withoutAds(messages); // ads of earlier turns stay on the page
  const prompt = await convertToModelMessages(history);
  const turn = history.filter((message) => message.role === 'user').length;
  const stream = createUIMessageStream<ChatMessage>({
    execute: async ({ writer }) => {
      const ad = writeAd(writer, adnet, {
        messages: adMessages(history),
        session_id: id,
        turn,
        integration_method: 'npm_sdk',
      });
      writer.merge(streamText({ model, prompt }).toUIMessageStream());
      await ad; // the answer streams meanwhile
    },
  });
  pipeUIMessageStreamToResponse({ response, stream });
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
