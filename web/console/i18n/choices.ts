import { texts } from '../state';

/** The texts of the further choices of a campaign and of its versions, loaded with its forms. */
const en = {
  roasHelp: 'What your conversions are worth, per USD spent: 4 means 4 USD for each USD.',
  mendROAS: 'Enter the value of conversions per USD spent, above 0 and at most 1,000,000.',
  mendRelevance: 'Enter a number from 0 to 1.',
  more: 'More choices',
  targeting: {
    broad: 'Broad: the words add to what the ad is about',
    exact: 'Exact: only conversations that have one of the words',
  },
  methods: {
    mcp: 'MCP servers and hosts',
    js_snippet: 'Web pages (adnet.js)',
    npm_sdk: 'Web pages (npm)',
    rest: 'REST and server SDKs',
    openrtb: 'Exchanges (OpenRTB)',
  } as Record<string, string>,
  methodsHelp: 'Nothing selected: all of them.',
  relevanceHelp:
    'Lowest probability, from 0 to 1, that the ad answers the request. 0 leaves it to the network.',
  clickID: { on: 'Added to the landing page (adnet_click)', off: 'Left out: the link is signed' },
  clickIDHelp: 'Conversions are reported with it. Without it none are counted.',
  field: 'Field',
  theirs: 'Present state',
  mine: 'Your input',
  empty: 'empty',
  choose: 'Choose a version for each field. Your own changes are selected.',
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : Texts<T[K]> };

const de: Texts<typeof en> = {
  roasHelp: 'Der Wert Ihrer Conversions je ausgegebenem USD: 4 heißt 4 USD für jeden USD.',
  mendROAS:
    'Geben Sie den Wert der Conversions je ausgegebenem USD an, über 0 und höchstens 1.000.000.',
  mendRelevance: 'Geben Sie eine Zahl von 0 bis 1 ein.',
  more: 'Weitere Angaben',
  targeting: {
    broad: 'Weit: Die Wörter ergänzen, wovon die Anzeige handelt',
    exact: 'Genau: nur Gespräche, in denen eines der Wörter vorkommt',
  },
  methods: {
    mcp: 'MCP-Server und -Hosts',
    js_snippet: 'Webseiten (adnet.js)',
    npm_sdk: 'Webseiten (npm)',
    rest: 'REST und Server-SDKs',
    openrtb: 'Börsen (OpenRTB)',
  },
  methodsHelp: 'Nichts ausgewählt: alle.',
  relevanceHelp:
    'Geringste Wahrscheinlichkeit, von 0 bis 1, dass die Anzeige zur Anfrage passt. Bei 0 ' +
    'entscheidet das Netzwerk.',
  clickID: {
    on: 'Wird an die Zielseite angehängt (adnet_click)',
    off: 'Bleibt weg: Der Link ist signiert',
  },
  clickIDHelp: 'Mit ihr werden Conversions gemeldet. Ohne sie zählt keine.',
  field: 'Feld',
  theirs: 'Jetziger Stand',
  mine: 'Ihre Eingabe',
  empty: 'leer',
  choose: 'Wählen Sie für jedes Feld eine Fassung. Ihre eigenen Änderungen sind ausgewählt.',
};

export const choices = () => texts(en, de);
