import { texts } from '../state';

/**
 * The texts of a publisher's placements and waiting Credits, loaded only with their screens.
 */
const en = {
  placements: 'Placements',
  lead: 'The placements in which your app requests ads: requests, fill rate, and earnings.',
  none: 'No requests yet',
  noneHelp: 'A request names its placement in the field placement. This list shows all of them.',
  by: 'By',
  splits: {
    surface: 'Placement',
    host_app: 'App',
    integration_method: 'Method',
    format: 'Format',
  } as Record<string, string>,
  surfaces: {
    chat: 'card: beside an answer',
    tool_result: 'toolrec: in a tool result',
    welcome: 'welcome: before the first turn',
    buttons: 'buttons: suggested next steps',
  } as Record<string, string>,
  requests: 'Requests',
  filled: 'Filled',
  fill: 'Fill rate',
  notAsked: 'not in any recorded request',
  asked: 'Requests are recorded within seconds, best effort. Events are counted exactly.',
  top: 'Only the values with the most requests are listed.',
  csv: 'Events as CSV',
  waits: 'Credits that wait',
  waitsHelp: 'A Credit can be spent when a charge backs it and its hold has ended.',
  nothing: 'No Credits are waiting: all of yours can be spent.',
  reason: 'Reason',
  until: 'Spendable from',
  expires: 'Expires',
  minted: 'Earned since',
  undecided: 'when the case is decided',
  frozen:
    'A case about your traffic is open: nothing is released before its decision. The ' +
    'reason is listed under Decisions.',
  toDecisions: 'Decisions',
  reasons: {
    not_charged: 'No charge backs them yet. Without one they expire.',
    hold: 'Charged. The usual hold allows for refunds and the detection of invalid traffic.',
    concentration:
      'One advertiser paid for more than a quarter of that day, so the long hold ' +
      'applies. It ends sooner when others pay for the day as well.',
    quarantine: 'Held by a case about your traffic.',
    no_readers:
      "No reader's device has sent anything in 30 days: no link, no pixel. They wait until a " +
      'person approves you, once.',
  } as Record<string, string>,
  pending: 'Credits pending',
  pendingHelp: 'No charge backs them yet',
  worth: (usd: string) => `A Credit is worth ${usd} of a campaign’s budget`,
  ownECPM: 'Your eCPM',
  ownECPMHelp: 'The worth of your Credits for 1,000 impressions',
  paidECPM: 'eCPM of advertisers',
};

type Texts<T> = {
  [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Texts<T[K]>;
};

const de: Texts<typeof en> = {
  placements: 'Platzierungen',
  lead:
    'Die Platzierungen, für die Ihre App Anzeigen anfordert: Anfragen, Füllrate und ' +
    'Einnahmen.',
  none: 'Noch keine Anfragen',
  noneHelp: 'Eine Anfrage nennt ihre Platzierung im Feld placement. Diese Liste zeigt alle davon.',
  by: 'Nach',
  splits: {
    surface: 'Platzierung',
    host_app: 'App',
    integration_method: 'Methode',
    format: 'Format',
  },
  surfaces: {
    chat: 'card: neben einer Antwort',
    tool_result: 'toolrec: in einem Werkzeugergebnis',
    welcome: 'welcome: vor dem ersten Beitrag',
    buttons: 'buttons: vorgeschlagene nächste Schritte',
  },
  requests: 'Anfragen',
  filled: 'Gefüllt',
  fill: 'Füllrate',
  notAsked: 'in keiner aufgezeichneten Anfrage',
  asked:
    'Anfragen werden binnen Sekunden und nach Möglichkeit aufgezeichnet. Ereignisse ' +
    'werden genau gezählt.',
  top: 'Nur die Werte mit den meisten Anfragen stehen hier.',
  csv: 'Ereignisse als CSV',
  waits: 'Wartende Credits',
  waitsHelp:
    'Ein Credit kann ausgegeben werden, wenn eine Belastung ihn deckt und seine ' +
    'Haltefrist abgelaufen ist.',
  nothing: 'Keine wartenden Credits: Alle können ausgegeben werden.',
  reason: 'Grund',
  until: 'Verfügbar ab',
  expires: 'Verfällt',
  minted: 'Verdient seit',
  undecided: 'wenn der Fall entschieden ist',
  frozen:
    'Ein Fall zu Ihrem Traffic ist offen: Vor der Entscheidung wird nichts freigegeben. ' +
    'Der Grund steht unter Entscheidungen.',
  toDecisions: 'Entscheidungen',
  reasons: {
    not_charged: 'Noch deckt sie keine Belastung. Ohne Belastung verfallen sie.',
    hold:
      'Belastet. Die übliche Haltefrist lässt Zeit für Erstattungen und das Erkennen ' +
      'von ungültigem Traffic.',
    concentration:
      'Ein Werbetreibender zahlte mehr als ein Viertel des Tages, deshalb gilt die ' +
      'lange Haltefrist. Sie endet früher, wenn auch andere für den Tag zahlen.',
    quarantine: 'Wegen eines Falls zu Ihrem Traffic einbehalten.',
    no_readers:
      'Seit 30 Tagen kam nichts vom Gerät eines Lesers: kein Link, kein Pixel. Sie warten, bis ' +
      'ein Mensch Sie einmalig zulässt.',
  },
  pending: 'Credits offen',
  pendingHelp: 'Noch deckt sie keine Belastung',
  worth: (usd) => `Ein Credit ist ${usd} Kampagnenbudget wert`,
  ownECPM: 'Ihr eCPM',
  ownECPMHelp: 'Der Wert Ihrer Credits für 1.000 Impressionen',
  paidECPM: 'eCPM der Werbetreibenden',
};

export const p = () => texts(en, de);
