// What each runtime does with the package: imports all that needs no other package, and asks.
import process from 'node:process';
import { Adnet } from '@adnet/sdk';
import { adMessages } from '@adnet/sdk/ai-sdk';
import { adMessage } from '@adnet/sdk/discord';
import { addAd } from '@adnet/sdk/mcp';

/** Asks for an ad, renders it in all forms, reports it, and answers the kind of the result. */
export async function smoke(url, key) {
  const adnet = new Adnet({ url, key, timeout: 5000 });
  const messages = adMessages([
    { role: 'user', parts: [{ type: 'text', text: 'How do I back up a Postgres database?' }] },
  ]);
  const result = await adnet.ad({ messages });
  if (result.kind !== 'filled') return JSON.stringify(result);
  if (adMessage(result.ad).embeds.length !== 1 || addAd({}, result.ad).content.length !== 1)
    return 'not rendered';
  const told = await adnet.report(result.ad, 'impression');
  return told.kind === 'tracked' ? result.kind : JSON.stringify(told);
}

if (process.env?.SMOKE_URL) console.log(await smoke(process.env.SMOKE_URL, process.env.SMOKE_KEY));
