import { texts } from '../state';

/** The texts of the first steps, and of the money and delivery of campaigns. */
const en = {
  newer: (n: string, won: string) => `It won ${won} of ${n} auctions since it was created.`,
  begin: 'Start',
  beginAdvertise: 'From a campaign to its first ad.',
  beginPublish: 'From a key to the first Credit.',
  done: 'done',
  open: 'open',
  doneOf: (done: number, all: number) => `${done} of ${all}`,
  steps: {
    campaign: 'Create a campaign',
    deposit: 'Deposit funds',
    review: 'Pass the review',
    shown: 'First ad shown',
    key: 'Create a key',
    request: 'First ad request',
    earned: 'First Credit earned',
  },
  helps: {
    campaign: 'What you offer, to whom, and what a click or an ad may cost.',
    deposit: 'Ads are paid from your balance. Without a deposit no campaign delivers.',
    review: 'The first clean campaign passes at once. A person reads further ones first.',
    shown: 'Ads appear where they fit a question.',
    key: 'A key tells the network which ads are yours to show.',
    request: 'Put the code into your page, app or MCP server.',
    earned: 'Each ad that a reader sees earns a Credit.',
  },
  deliveries: {
    unfunded: 'Waiting for funds',
    scheduled: 'Scheduled',
    ended: 'Ended',
    budget_spent: 'Budget spent',
    day_spent: 'Day’s budget spent',
    held_back: 'Held back',
    in_review: 'In review',
  } as Record<string, string>,
  unfunded: (n: number) =>
    n === 1 ? 'This campaign waits for funds' : `${n} campaigns wait for funds`,
  unfundedHelp: (balance: string) =>
    `Your balance is ${balance}. Ads are shown as soon as a deposit has arrived.`,
  needEnded: 'Its end has passed. Change the dates to go on.',
  needHeld: 'It is held back. Its page has the reason.',
  funds: 'Funds',
  fundsLast: (balance: string, days: string) =>
    `Your balance of ${balance} pays for ${days} of the daily budget.`,
  fundsNone: (balance: string) =>
    `Your balance is ${balance}. The campaign will not be shown before a deposit.`,
  days: (n: number) => (n === 1 ? '1 day' : `${n} days`),
  lessThanDay: 'less than a day',
  depositHelp: 'After the payment you return to this draft.',
};

type Texts<T> = {
  [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Texts<T[K]>;
};

const de: Texts<typeof en> = {
  newer: (n, won) => `Sie gewann ${won} von ${n} Auktionen, seit es sie gibt.`,
  begin: 'Start',
  beginAdvertise: 'Von der Kampagne zur ersten Anzeige.',
  beginPublish: 'Vom Schlüssel zum ersten Credit.',
  done: 'erledigt',
  open: 'offen',
  doneOf: (done, all) => `${done} von ${all}`,
  steps: {
    campaign: 'Kampagne anlegen',
    deposit: 'Einzahlen',
    review: 'Prüfung bestehen',
    shown: 'Erste Anzeige gezeigt',
    key: 'Schlüssel anlegen',
    request: 'Erste Anfrage',
    earned: 'Erster Credit verdient',
  },
  helps: {
    campaign: 'Was Sie anbieten, wem, und was ein Klick oder eine Anzeige kosten darf.',
    deposit: 'Anzeigen werden aus Ihrem Guthaben bezahlt. Ohne Einzahlung wird keine gezeigt.',
    review: 'Die erste saubere Kampagne besteht sofort. Weitere liest zuerst ein Mensch.',
    shown: 'Anzeigen erscheinen, wo sie zu einer Frage passen.',
    key: 'Am Schlüssel erkennt das Netzwerk, welche Anzeigen Sie zeigen.',
    request: 'Setzen Sie den Code in Ihre Seite, App oder Ihren MCP-Server ein.',
    earned: 'Jede Anzeige, die ein Leser sieht, verdient einen Credit.',
  },
  deliveries: {
    unfunded: 'Wartet auf Guthaben',
    scheduled: 'Geplant',
    ended: 'Beendet',
    budget_spent: 'Budget verbraucht',
    day_spent: 'Tagesbudget verbraucht',
    held_back: 'Angehalten',
    in_review: 'In Prüfung',
  },
  unfunded: (n) =>
    n === 1 ? 'Diese Kampagne wartet auf Guthaben' : `${n} Kampagnen warten auf Guthaben`,
  unfundedHelp: (balance) =>
    `Ihr Guthaben ist ${balance}. Anzeigen erscheinen, sobald eine Einzahlung eingegangen ist.`,
  needEnded: 'Ihr Ende ist vorbei. Ändern Sie die Daten, um fortzufahren.',
  needHeld: 'Sie ist angehalten. Der Grund steht auf ihrer Seite.',
  funds: 'Guthaben',
  fundsLast: (balance, days) => `Ihr Guthaben von ${balance} reicht für ${days} des Tagesbudgets.`,
  fundsNone: (balance) =>
    `Ihr Guthaben ist ${balance}. Vor einer Einzahlung wird die Kampagne nicht gezeigt.`,
  days: (n) => (n === 1 ? '1 Tag' : `${n} Tage`),
  lessThanDay: 'weniger als einen Tag',
  depositHelp: 'Nach der Zahlung kommen Sie zu diesem Entwurf zurück.',
};

export const st = () => texts(en, de);
