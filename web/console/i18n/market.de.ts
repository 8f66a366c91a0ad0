import type { Messages } from './en';
import type { market as english } from './market.en';

export const market: Pick<Messages, keyof typeof english> = {
  hour: 'Stunde',
  byHour: 'Nach Stunden',
  chartHours: (name) =>
    `Diagramm: ${name} nach Stunden (UTC). Die Pfeiltasten gehen durch die Stunden; die ` +
    `Tabelle hat alle Werte.`,
  step: 'Schritt',
  steps: { day: 'Tage', hour: 'Stunden, 7 Tage' },
  before: (value) => `Davor: ${value}`,
  change: (part, value) => `${part} gegen ${value} davor`,
  asCSV: 'Als CSV',
  copyCampaign: 'Kopieren',
  starts: 'Beginnt',
  ends: 'Endet',
  atOnce: 'sofort',
  never: 'wenn das Budget aufgebraucht ist',
  datesHelp: 'Daten sind in UTC, auf die Minute. Lassen Sie eines leer für keines.',
  changeDates: 'Daten ändern',
  resumeIt: 'Fortsetzen',
  submitIt: 'Einreichen',
  raiseBid: 'Gebot erhöhen',
  widen: 'Publikum erweitern',
  breakdownsMore: {
    format: 'Format',
    host_app: 'App',
    integration_method: 'Methode',
    publisher: 'Publisher',
    surface: 'Fläche',
    region: 'Region',
    language: 'Sprache',
  },
  paidEvent: 'Bezahlt wird',
  paidEvents: {
    impression: 'Jede Einblendung',
    viewable: 'Jede Sicht: die halbe Anzeige eine Sekunde lang',
  },
  paidEventHelp:
    'Erscheint nur, wo eine Sicht gemeldet werden kann: in Seiten mit adnet.js und in ' +
    'Hosts von MCP Apps. Sie tritt mit dem Teil ihres Gebots an, der dem Anteil ' +
    'gesehener Einblendungen entspricht: die Hälfte, bis das Netz ihn gelernt hat.',
  paidBy: 'Bezahlt mit',
  paidCredits: (n: string) => `Credits (${n} verfügbar)`,
  paidCreditsHelp:
    'Das Budget insgesamt wird beim Anlegen der Kampagne von Ihren Credits abgezogen.',
  least: 'Mindestrelevanz',
  leastLead: 'Keine Anzeige zeigen, die eine Anfrage weniger wahrscheinlich beantwortet.',
  leastLabel: 'Wahrscheinlichkeit, von 0 bis 1',
  leastHelp:
    'Leer überlässt es dem Netzwerk. Unter dessen Untergrenze zählt sie bis zum ' +
    'niedrigsten Wert, den der Betreiber erlaubt.',
  houseAds: 'Eigene Kampagnen zeigen, wo sonst nichts verkauft wird',
  houseHelp:
    'Eigenwerbung kostet und verdient nichts, wie auch immer die Untergrenze ist. Sie ' +
    'ist als solche gekennzeichnet und hält sich an Targeting, Zeiten, Freigabe und Ihre ' +
    'Sperren.',
  leastSave: 'Speichern',
  leastSaved: 'Gespeichert. Sie gilt innerhalb von zwei Sekunden.',
  aim: 'Ziel',
  aims: {
    manual: 'Bieten, was ich sage',
    target_cpa: 'Eine Conversion zu einem Preis',
    max_conversions: 'So viele Conversions, wie das Budget kauft',
  },
  targetCPA: 'Eine Conversion darf kosten, in USD',
  aimHelp: 'Mit einem Ziel entstehen die Gebote aus Conversions, und Ihr Gebot ist das höchste.',
  categories: 'Kategorien (IAB), z. B. IAB19',
  forecast: 'Prognose',
  forecastHelp:
    'Aus den Auktionen der letzten 28 Tage. Was Menschen darin sagen, wird nicht ' +
    'aufbewahrt; Wörter grenzen sie darum nicht ein.',
  requestsDay: 'Passende Anfragen am Tag',
  priceUsual: 'Üblicher Preis für 1.000 Impressionen',
  priceText: (low, mid, high) => `${low} bis ${high}, die Hälfte unter ${mid}`,
  wonShare: 'Ihr Gebot gewänne höchstens',
  reachDay: 'Impressionen am Tag, höchstens',
  spendDay: 'Ausgaben am Tag, höchstens',
  forecastFew: 'Zu wenige Anfragen passen für eine Prognose.',
  forecastHidden:
    'Zu wenige Werbetreibende bieten hier: Ein Preis würde verraten, was einer von ihnen bietet.',
  blocks: 'Sperren',
  blocksLead: 'Was Ihre Apps nicht zeigen. Auktionen gehorchen innerhalb von zwei Sekunden.',
  blocksHelp: 'Ein Eintrag je Zeile, bis zu 200.',
  blockAdvertisers: 'Werbetreibende (ihre Kennungen)',
  blockDomains: 'Domains von Zielseiten mit allen darunter',
  blockCategories: 'Kategorien (IAB), etwa IAB7',
  blockWords: 'Wörter und Wendungen',
  blocksSave: 'Sperren speichern',
  blocksSaved: 'Gespeichert. Auktionen gehorchen jetzt.',
  creatives: 'Anzeigen',
  creativesLead: 'Was Ihre Kampagnen zeigen, die neuesten zuerst.',
  noCreatives: 'Noch keine Anzeigen',
  openCampaign: 'Kampagne öffnen',
  nameWaits: 'Jemand von der Administration sieht den Namen an, bevor Ihre Anzeigen ihn nennen.',
  nameApproved: 'Ihre Anzeigen nennen den genehmigten Namen.',
  nameVerified: 'Ihre Anzeigen nennen den Namen, und dass er geprüft ist.',
  profile: 'Profil',
  profileLead: 'Wer Sie für andere sind, und was über Sie aufbewahrt wird.',
  profileHelp:
    'Belege Ihrer Anzeigen zeigen die Firma, sonst Ihren Namen, und sagen, ob er geprüft ' +
    'ist. Anzeigen nennen ihn, sobald jemand von der Administration ihn genehmigt hat.',
  displayName: 'Ihr Name',
  company: 'Firma',
  profileSaved: 'Gespeichert.',
  myData: 'Meine Daten',
  myDataHelp: 'Profil, Schlüssel, Kampagnen, Hauptbuch und Protokoll, als JSON.',
  downloadData: 'Meine Daten herunterladen',
  deleteAccount: 'Mein Konto löschen',
  deleteLoses: (usd, credits) =>
    `Ich gebe ${usd} und ${credits} Credits auf: Nach der Löschung können sie hier weder ` +
    `ausgegeben noch erstattet werden.`,
  deleteHelp:
    'Schlüssel enden, Kampagnen enden, Ihre E-Mail und Namen werden entfernt. Die Bücher ' +
    'behalten ihre Zeilen, unter einer Kennung, die niemanden nennt. Restliches Guthaben ' +
    'und restliche Credits verfallen, auch ausstehende und zurückgehaltene.',
  deleteCode: 'Code Ihres zweiten Faktors, wenn Sie einen haben',
  deleteSure: 'Ihr Konto für immer löschen?',
  deleted: (left) => `Ihr Konto ist gelöscht. Restliches Guthaben: ${left}.`,
  auctions: 'Auktionen',
  auctionsLead:
    'Warum eine Auktion so ausging: Sie sehen, was Ihres ist, den Preis, der gewann, und ' +
    'wie viele andere es gab.',
  auctionsHelp:
    'Die Kennung einer Auktion steht in der Antwort einer Anfrage (auction_id) oder im ' +
    'Header X-Adnet-Auction-Id eines Gebots.',
  auctionId: 'Kennung der Auktion',
  explain: 'Erklären',
  outcome: 'Ausgang',
  filled: 'Eine Anzeige erschien',
  unfilled: 'Keine Anzeige',
  winnerPrice: 'Preis, der gewann, je Einheit',
  yourCandidates: 'Ihre Kandidaten und der Gewinner',
  allCandidates: 'Alle Kandidaten',
  noCandidates: 'Keine, die Sie sehen dürfen.',
  otherCandidates: 'Andere',
  moreCandidates: 'Dahinter gab es vielleicht weitere.',
  theRequest: 'Die Anfrage',
  floor: 'Mindestpreis für 1.000',
  notRecorded:
    'Ihr Protokoll ist noch nicht da oder nicht aufbewahrt: Dies sagt ihre signierte Kennung.',
  events: 'Ereignisse',
  event: 'Ereignis',
  verdict: 'Urteil',
  results: {
    won: 'gewonnen',
    outbid: 'überboten',
    below_floor: 'unter dem Mindestpreis',
    budget: 'kein Budget mehr',
    paced: 'gedrosselt',
    frequency_capped: 'oft genug gesehen',
    blocked: 'vom Publisher gesperrt',
    no_match: 'nichts passte',
    irrelevant: 'nichts war relevant',
    no_campaigns: 'keine Kampagnen',
    stale: 'der Knoten war nicht sicher',
  } as Record<string, string>,
  causes: {
    not_active: 'Ihr Zustand ist nicht „Aktiv“.',
    policy_violations: 'Ihre Anzeige verstößt gegen die Richtlinie.',
    not_started: 'Sie beginnt erst später: Ändern Sie den Beginn, oder warten Sie.',
    ended: 'Ihre Zeit ist vorbei: Ändern Sie das Ende.',
    total_budget_spent: 'Vom Budget insgesamt ist weniger übrig, als eine Einheit kosten kann.',
    daily_budget_spent:
      'Das Budget des Tages war oder ist aufgebraucht; um 00:00 UTC geht es weiter.',
    unfunded: 'Das Guthaben ist kleiner, als eine Einheit kosten kann: Zahlen Sie ein.',
    not_propagated:
      'Der Knoten, der antwortet, kennt ihren neuesten Stand noch nicht: Versuchen Sie ' +
      'es in einer Sekunde wieder.',
    no_matching_requests:
      'In der letzten Stunde passte keine Auktion zu ihrer Ausrichtung, oder es gab keine.',
    outbid:
      'In diesen Auktionen war eine andere Kampagne mehr wert: Bieten Sie mehr, oder ' +
      'richten Sie sie genauer aus.',
    irrelevant:
      'In keiner dieser Auktionen passte gut genug, was sie sagt: Nennen Sie in klaren ' +
      'Worten, wonach Menschen fragen.',
    below_floor: 'Ihr Preis für 1.000 Einblendungen lag unter dem Mindestpreis des Publishers.',
    blocked:
      'Der Publisher sperrt ihren Werbetreibenden, ihre Zielseite, eine Kategorie oder ein Wort.',
    paced: 'Ihr Tagesbudget wird über den Tag verteilt.',
    frequency_capped: 'Die Menschen hatten sie oft genug gesehen.',
    ok: 'Diese Auktionen der letzten Stunde hat sie gewonnen.',
  },
};
