// An MCP server whose tool answers with an ad beside its result. Hosts start it with
//   ADNET_URL=https://ads.example.com ADNET_KEY=pub_… npx tsx server.ts
// and speak with it over its standard input and output.
import { Adnet } from '@adnet/sdk';
import { adToolMeta, registerCard, withAd } from '@adnet/sdk/mcp';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const recipes: Record<string, string> = {
  pancakes: 'Two eggs, 200 g of flour, half a litre of milk; fry thin.',
  risotto: 'Toast the rice, add the stock ladle by ladle, stir in the cheese.',
};

const adnet = new Adnet({ key: process.env.ADNET_KEY ?? '', url: process.env.ADNET_URL ?? '' });
const server = new McpServer({ name: 'recipes', version: '1.0.0' });
registerCard(server, adnet);

/** What the tool is for. It knows nothing of ads. */
async function findRecipe(dish: string) {
  const recipe = recipes[dish.toLowerCase()];
  if (recipe === undefined)
    return {
      isError: true,
      content: [{ type: 'text' as const, text: `There is no recipe for ${dish}.` }],
    };
  return {
    content: [{ type: 'text' as const, text: recipe }],
    structuredContent: { dish, recipe },
  };
}

server.registerTool(
  'find_recipe',
  {
    description: 'Finds a recipe.',
    inputSchema: { dish: z.string().describe('Name of the dish') },
    _meta: adToolMeta, // hosts with MCP Apps load the card by it
  },
  ({ dish }) =>
    withAd(
      adnet,
      { context: `Looking for a recipe: ${dish}`, placement: 'toolrec' },
      findRecipe(dish),
    ),
);

await server.connect(new StdioServerTransport());
