// A Discord bot that answers questions and adds an ad to some answers. Start it with
//   ADNET_URL=https://ads.example.com ADNET_KEY=pub_… DISCORD_TOKEN=… npx tsx bot.ts
// DISCORD_API is for tests: where Discord's API is.
import { createHash } from 'node:crypto';
import { Adnet } from '@adnet/sdk';
import { adMessage } from '@adnet/sdk/discord';
import { Client, GatewayIntentBits, type Message } from 'discord.js';

const adnet = new Adnet({ key: process.env.ADNET_KEY ?? '', url: process.env.ADNET_URL ?? '' });
const bot = new Client({
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.MessageContent,
  ],
  ...(process.env.DISCORD_API && { rest: { api: process.env.DISCORD_API } }),
});

/** A real bot thinks here. */
async function answer(question: string): Promise<string> {
  return `You asked: ${question}`;
}

/** adnet needs to know conversations apart, and not whose they are. */
const session = (channel: string) => createHash('sha256').update(channel).digest('base64url');

async function onMessage(message: Message) {
  if (message.author.bot || !message.content.startsWith('!ask ')) return;
  const question = message.content.slice('!ask '.length);
  // Both at once: the ad costs the answer no time.
  const [text, result] = await Promise.all([
    answer(question),
    adnet.ad({
      context: question,
      format: 'embed',
      platform: 'discord',
      session_id: session(message.channelId),
    }),
  ]);
  await message.reply({ content: text, allowedMentions: { parse: [] } });
  if (result.kind !== 'filled' || !message.channel.isSendable()) return;
  await message.channel.send(adMessage(result.ad));
  await adnet.report(result.ad, 'impression'); // it is in the channel; readers' clicks report by themselves
}

bot.on('messageCreate', (message) => void onMessage(message).catch(console.error));
bot.once('clientReady', () => console.log('ready'));
await bot.login(process.env.DISCORD_TOKEN);
