import { texts } from '../state';

/** The texts of the screens about refused conversations, which come with these screens only. What a
 *  subject is comes from the API. */
const en = {
  lead:
    'adnet judges a conversation before it sells an ad beside it. Beside some subjects no ' +
    'ad is ever shown; for others you decide.',
  sensitive: 'Sensitive subjects',
  sensitiveHelp:
    'Where you allow one, campaigns that allow it too may run beside it, without ' +
    'session, learning or record of its words. Auctions obey within two seconds.',
  cost: (week: string, month: string) =>
    `Requests without an ad for it: ${week} in 7 days, ${month} in 30 days`,
  few: 'fewer than 100',
  allow: (title: string) => `Allow ads beside: ${title}`,
  example: 'Example',
  remember: 'Remember refused sessions for 24 hours',
  rememberHelp:
    'After a never subject the session gets no ad for a day. Without it the turns of the ' +
    'request decide alone: send the earlier ones.',
  save: 'Save',
  saved: 'Saved. Auctions obey within two seconds.',
  never: 'Subjects beside which no ad is shown',
  neverHelp:
    'Nobody can allow these. A request is answered without an ad, with the reason unsuitable.',
  counts: 'Refused requests',
  countsHelp:
    'Fewer than 10 a day are shown as <10, to administrators too; sums are of the other days.',
  day: 'Day',
  requests: 'Requests, not refused',
  adults: 'Said to be of adults',
  neverTier: 'Never',
  sensitiveTier: 'Sensitive',
  sum: 'Sum',
  below: (n: number) => (n === 1 ? '1 day below 10' : `${n} days below 10`),
  flags: 'Flags that adnet does not know',
  flagsHelp:
    'Each refused its request. Names of the last 30 days; the known ones are in the documentation.',
  noFlags: 'None: every flag that you sent is understood.',
  flag: 'Flag',
  times: 'Times',
  last: 'Last',
  network: 'Refused requests by publisher',
  networkLead:
    'How often requests are refused because of their conversation. Fewer than 10 a ' +
    'publisher, tier and day are in no number here.',
  publisher: 'Publisher',
  rate: 'rate',
  jumped: 'jumped',
  none: 'No requests in these days.',
  period: 'Period',
  days: (n: number) => (n === 1 ? 'today' : `${n} days`),
  jumpedHelp:
    'A jump is a never rate of today over four times, and six standard deviations above, ' +
    'that of the other days.',
  took: 'What refused conversations took',
  tookNone: 'No subject took 100 requests.',
  tookHelp: (since: string, until: string) =>
    `Requests at the campaign's apps, surfaces and languages from ${since} to ${until}, ` +
    `in hundreds. Neither region nor words are recorded of a refusal.`,
  earlier: 'an earlier turn of the session',
  reasons: { unsuitable: 'never', sensitive: 'sensitive' } as Record<string, string>,
};

type Texts<T> = {
  [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Texts<T[K]>;
};

const de: Texts<typeof en> = {
  lead:
    'adnet beurteilt ein Gespräch, bevor es daneben eine Anzeige verkauft. Neben manchen ' +
    'Themen steht nie eine; über andere entscheiden Sie.',
  sensitive: 'Heikle Themen',
  sensitiveHelp:
    'Wo Sie eines erlauben, dürfen Kampagnen daneben laufen, die es auch erlauben: ohne ' +
    'Sitzung, ohne Lernen, ohne dass Wörter aufgezeichnet werden. Auktionen gehorchen ' +
    'innerhalb von zwei Sekunden.',
  cost: (week, month) =>
    `Anfragen, die deshalb keine Anzeige bekamen: ${week} in 7 Tagen, ${month} in 30 Tagen`,
  few: 'weniger als 100',
  allow: (title) => `Anzeigen erlauben neben: ${title}`,
  example: 'Beispiel',
  remember: 'Abgelehnte Sitzungen 24 Stunden lang merken',
  rememberHelp:
    'Nach einem Thema, neben dem nie eine Anzeige steht, bekommt die Sitzung einen Tag ' +
    'lang keine. Ohne das entscheiden allein die Beiträge der Anfrage: Senden Sie auch ' +
    'die früheren.',
  save: 'Speichern',
  saved: 'Gespeichert. Auktionen gehorchen innerhalb von zwei Sekunden.',
  never: 'Themen, neben denen nie eine Anzeige steht',
  neverHelp:
    'Diese kann niemand erlauben. Die Anfrage bleibt ohne Anzeige, mit dem Grund unsuitable.',
  counts: 'Abgelehnte Anfragen',
  countsHelp:
    'Weniger als 10 am Tag stehen als <10 da, auch für Administratoren; Summen zählen ' +
    'nur die anderen Tage.',
  day: 'Tag',
  requests: 'Anfragen, nicht abgelehnt',
  adults: 'Laut Ihnen von Erwachsenen',
  neverTier: 'Nie',
  sensitiveTier: 'Heikel',
  sum: 'Summe',
  below: (n) => (n === 1 ? '1 Tag unter 10' : `${n} Tage unter 10`),
  flags: 'Markierungen, die adnet nicht kennt',
  flagsHelp:
    'Jede hat ihre Anfrage abgelehnt. Namen der letzten 30 Tage; die bekannten stehen in ' +
    'der Dokumentation.',
  noFlags: 'Keine: Alle gesendeten werden verstanden.',
  flag: 'Markierung',
  times: 'Anzahl',
  last: 'Zuletzt',
  network: 'Abgelehnte Anfragen nach Publisher',
  networkLead:
    'Wie oft Anfragen wegen ihres Gesprächs abgelehnt werden. Weniger als 10 je ' +
    'Publisher, Stufe und Tag stecken in keiner Zahl hier.',
  publisher: 'Publisher',
  rate: 'Anteil',
  jumped: 'gesprungen',
  none: 'Keine Anfragen an diesen Tagen.',
  period: 'Zeitraum',
  days: (n) => (n === 1 ? 'heute' : `${n} Tage`),
  jumpedHelp:
    'Ein Sprung ist ein heutiger Nie-Anteil von mehr als dem Vierfachen der anderen ' +
    'Tage, sechs Standardabweichungen darüber.',
  took: 'Was abgelehnte Gespräche kosteten',
  tookNone: 'Kein Thema kostete 100 Anfragen.',
  tookHelp: (since, until) =>
    `Anfragen in den Apps, Platzierungen und Sprachen der Kampagne vom ${since} bis ` +
    `${until}, in Hundertern. Von einer Ablehnung werden weder Region noch Wörter ` +
    `aufgezeichnet.`,
  earlier: 'ein früherer Beitrag der Sitzung',
  reasons: { unsuitable: 'nie', sensitive: 'heikel' },
};

export const r = () => texts(en, de);
