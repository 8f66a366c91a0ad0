import { texts } from '../state';

/** The texts of the screens about refused conversations, loaded only with these screens. The API
 *  describes the subjects. */
const en = {
  lead:
    'adnet checks a conversation before it sells an ad. For some subjects no ad is ever ' +
    'shown. For others you decide.',
  sensitive: 'Sensitive subjects',
  sensitiveHelp:
    'If you allow a subject, campaigns that also allow it may run there, without ' +
    'session, learning or a record of its words. Changes apply within two seconds.',
  cost: (week: string, month: string) =>
    `Requests without an ad for it: ${week} in 7 days, ${month} in 30 days`,
  few: 'fewer than 100',
  allow: (title: string) => `Allow ads beside: ${title}`,
  example: 'Example',
  remember: 'Remember refused sessions for 24 hours',
  rememberHelp:
    'After a never subject the session gets no ad for a day. Without this option only ' +
    'the turns of the request decide, so send the earlier turns.',
  save: 'Save',
  saved: 'Saved. It applies within two seconds.',
  never: 'Subjects without ads',
  neverHelp:
    'These cannot be allowed. Such a request is answered without an ad, with the reason ' +
    'unsuitable.',
  counts: 'Refused requests',
  countsHelp:
    'Fewer than 10 a day are shown as <10, even to administrators. Sums exclude these days.',
  day: 'Day',
  requests: 'Requests not refused',
  adults: 'Declared as adult',
  neverTier: 'Never',
  sensitiveTier: 'Sensitive',
  sum: 'Sum',
  below: (n: number) => (n === 1 ? '1 day below 10' : `${n} days below 10`),
  flags: 'Flags unknown to adnet',
  flagsHelp:
    'Each led to a refused request. Names of the last 30 days. The documentation lists ' +
    'the known flags.',
  noFlags: 'None: all flags in your requests are known.',
  flag: 'Flag',
  times: 'Times',
  last: 'Last',
  network: 'Refused requests by publisher',
  networkLead:
    'How often requests are refused because of their conversation. Counts below 10 per ' +
    'publisher, tier and day are excluded.',
  publisher: 'Publisher',
  rate: 'rate',
  jumped: 'surge',
  none: 'No requests in these days.',
  period: 'Period',
  days: (n: number) => (n === 1 ? 'today' : `${n} days`),
  jumpedHelp:
    'A surge is a never rate today of more than four times the rate of the other days ' +
    'and six standard deviations above it.',
  took: 'Requests lost to refused conversations',
  tookNone: 'No subject cost 100 requests.',
  tookHelp: (since: string, until: string) =>
    `Requests in the campaign's apps, surfaces and languages from ${since} to ${until}, ` +
    `in hundreds. Neither the region nor the words of a refusal are recorded.`,
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
    'adnet prüft ein Gespräch, bevor es eine Anzeige verkauft. Bei manchen Themen ' +
    'erscheint nie eine Anzeige. Über andere entscheiden Sie.',
  sensitive: 'Heikle Themen',
  sensitiveHelp:
    'Wenn Sie ein Thema erlauben, dürfen dort Kampagnen laufen, die es ebenfalls ' +
    'erlauben: ohne Sitzung, ohne Lernen und ohne Aufzeichnung der Wörter. Änderungen ' +
    'gelten innerhalb von zwei Sekunden.',
  cost: (week, month) =>
    `Anfragen, die deshalb keine Anzeige bekamen: ${week} in 7 Tagen, ${month} in 30 Tagen`,
  few: 'weniger als 100',
  allow: (title) => `Anzeigen erlauben neben: ${title}`,
  example: 'Beispiel',
  remember: 'Abgelehnte Sitzungen 24 Stunden lang merken',
  rememberHelp:
    'Nach einem Thema der Stufe Nie bekommt die Sitzung einen Tag lang keine Anzeige. ' +
    'Ohne diese Option entscheiden nur die Beiträge der Anfrage. Senden Sie deshalb ' +
    'auch die früheren.',
  save: 'Speichern',
  saved: 'Gespeichert. Die Einstellung gilt innerhalb von zwei Sekunden.',
  never: 'Themen ohne Anzeigen',
  neverHelp:
    'Diese lassen sich nicht erlauben. Die Anfrage bleibt ohne Anzeige, mit dem Grund unsuitable.',
  counts: 'Abgelehnte Anfragen',
  countsHelp:
    'Weniger als 10 am Tag erscheinen als <10, auch für Administratoren. Summen ' +
    'enthalten diese Tage nicht.',
  day: 'Tag',
  requests: 'Nicht abgelehnte Anfragen',
  adults: 'Als Erwachsene angegeben',
  neverTier: 'Nie',
  sensitiveTier: 'Heikel',
  sum: 'Summe',
  below: (n) => (n === 1 ? '1 Tag unter 10' : `${n} Tage unter 10`),
  flags: 'Flags, die adnet nicht kennt',
  flagsHelp:
    'Jedes führte zu einer abgelehnten Anfrage. Namen der letzten 30 Tage. Die ' +
    'Dokumentation nennt die bekannten Flags.',
  noFlags: 'Keine: Alle Flags Ihrer Anfragen sind bekannt.',
  flag: 'Flag',
  times: 'Anzahl',
  last: 'Zuletzt',
  network: 'Abgelehnte Anfragen nach Publisher',
  networkLead:
    'Wie oft Anfragen wegen ihres Gesprächs abgelehnt werden. Werte unter 10 je ' +
    'Publisher, Stufe und Tag sind nicht enthalten.',
  publisher: 'Publisher',
  rate: 'Anteil',
  jumped: 'sprunghaft',
  none: 'Keine Anfragen an diesen Tagen.',
  period: 'Zeitraum',
  days: (n) => (n === 1 ? 'heute' : `${n} Tage`),
  jumpedHelp:
    'Ein Sprung ist ein heutiger Nie-Anteil von mehr als dem Vierfachen der anderen ' +
    'Tage und sechs Standardabweichungen darüber.',
  took: 'Durch abgelehnte Gespräche verlorene Anfragen',
  tookNone: 'Kein Thema kostete 100 Anfragen.',
  tookHelp: (since, until) =>
    `Anfragen in den Apps, Platzierungen und Sprachen der Kampagne vom ${since} bis ` +
    `${until}, in Hundertern. Von einer Ablehnung werden weder Region noch Wörter ` +
    `aufgezeichnet.`,
  earlier: 'ein früherer Beitrag der Sitzung',
  reasons: { unsuitable: 'nie', sensitive: 'heikel' },
};

export const r = () => texts(en, de);
