import { texts } from '../state';

/**
 * The texts of a publisher's placements and waiting Credits, which come with their screens only.
 */
const en = {
  placements: 'Placements',
  lead:
    'Each place where your app asks for ads: how often, how many were filled, and what ' +
    'they earned in the last 30 days.',
  none: 'No requests yet',
  noneHelp: 'A request names its place in the field placement; this list shows each of them.',
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
  notAsked: 'not asked by a request that was recorded',
  asked: 'Requests are recorded within seconds and best effort; events are counted exactly.',
  top: 'Only the values with the most requests are listed.',
  csv: 'Events as CSV',
  waits: 'Credits that wait',
  waitsHelp: 'A Credit can be spent when a charge backs it and its hold has ended.',
  nothing: 'No Credit waits: all that you have can be spent.',
  reason: 'Why',
  until: 'Spendable from',
  expires: 'Expires',
  minted: 'Earned since',
  undecided: 'when the case is decided',
  frozen:
    'A case about your traffic is open: nothing is released before it is decided. Its ' +
    'reason stands among the decisions.',
  toDecisions: 'Decisions',
  reasons: {
    not_charged: 'No charge backs them yet. They expire if none does.',
    hold: 'Charged; the usual hold runs, so that refunds and invalid traffic can still be found.',
    concentration:
      'One advertiser paid for more than a quarter of that day, so the long hold runs. ' +
      'It ends sooner when others pay for the day, too.',
    quarantine: 'Held by a case about your traffic.',
  } as Record<string, string>,
  pending: 'Credits pending',
  pendingHelp: 'No charge backs them yet',
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : Texts<T[K]> };

const de: Texts<typeof en> = {
  placements: 'Platzierungen',
  lead:
    'Jede Stelle, an der Ihre App nach Anzeigen fragt: wie oft, wie viele Anfragen eine ' +
    'bekamen, und was sie in den letzten 30 Tagen einbrachten.',
  none: 'Noch keine Anfragen',
  noneHelp: 'Eine Anfrage nennt ihre Stelle im Feld placement; diese Liste zeigt jede davon.',
  by: 'Nach',
  splits: { surface: 'Platzierung', host_app: 'App', integration_method: 'Weg', format: 'Format' },
  surfaces: {
    chat: 'card: neben einer Antwort',
    tool_result: 'toolrec: in einem Werkzeugergebnis',
    welcome: 'welcome: vor dem ersten Zug',
    buttons: 'buttons: vorgeschlagene nächste Schritte',
  },
  requests: 'Anfragen',
  filled: 'Gefüllt',
  fill: 'Füllrate',
  notAsked: 'von keiner aufgezeichneten Anfrage verlangt',
  asked:
    'Anfragen werden binnen Sekunden und nach Möglichkeit aufgezeichnet; Ereignisse ' +
    'werden genau gezählt.',
  top: 'Nur die Werte mit den meisten Anfragen stehen hier.',
  csv: 'Ereignisse als CSV',
  waits: 'Credits, die warten',
  waitsHelp:
    'Ein Credit kann ausgegeben werden, wenn eine Belastung ihn deckt und seine Frist zu Ende ist.',
  nothing: 'Kein Credit wartet: alle können ausgegeben werden.',
  reason: 'Warum',
  until: 'Verfügbar ab',
  expires: 'Verfällt',
  minted: 'Verdient seit',
  undecided: 'wenn der Fall entschieden ist',
  frozen:
    'Ein Fall zu Ihrem Verkehr ist offen: Vorher wird nichts freigegeben. Der Grund ' +
    'steht bei den Entscheidungen.',
  toDecisions: 'Entscheidungen',
  reasons: {
    not_charged: 'Noch deckt sie keine Belastung. Sie verfallen, wenn keine kommt.',
    hold:
      'Belastet; die übliche Frist läuft, damit Erstattungen und ungültiger Verkehr noch ' +
      'auffallen.',
    concentration:
      'Ein Werbender zahlte mehr als ein Viertel des Tages, darum läuft die lange Frist. ' +
      'Sie endet früher, wenn auch andere für den Tag zahlen.',
    quarantine: 'Von einem Fall zu Ihrem Verkehr einbehalten.',
  },
  pending: 'Credits offen',
  pendingHelp: 'Noch deckt sie keine Belastung',
};

export const p = () => texts(en, de);
