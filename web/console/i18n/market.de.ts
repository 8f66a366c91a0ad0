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
  datesHelp: 'Daten sind in UTC, auf die Minute. Ein leeres Feld bedeutet keine Grenze.',
  changeDates: 'Daten ändern',
  resumeIt: 'Fortsetzen',
  submitIt: 'Einreichen',
  raiseBid: 'Gebot erhöhen',
  widen: 'Zielgruppe erweitern',
  answers: 'Antworten',
  breakdownsMore: {
    format: 'Format',
    host_app: 'App',
    integration_method: 'Methode',
    publisher: 'Publisher',
    surface: 'Platzierung',
    region: 'Region',
    language: 'Sprache',
  },
  paidEvent: 'Abgerechnetes Ereignis',
  paidEvents: {
    impression: 'Jede Impression',
    viewable: 'Jede Sicht: die halbe Anzeige eine Sekunde lang',
  },
  paidEventHelp:
    'Erscheint nur, wo Sichtbarkeit gemeldet werden kann: in Seiten mit adnet.js und in ' +
    'Hosts von MCP Apps. In der Auktion zählt das Gebot mal den Anteil sichtbarer ' +
    'Impressionen. Bis das Netzwerk diesen gelernt hat, gilt die Hälfte.',
  paidBy: 'Bezahlt mit',
  paidCredits: (n: string) => `Credits (${n} verfügbar)`,
  paidCreditsHelp: 'Das Gesamtbudget wird beim Erstellen der Kampagne von Ihren Credits abgezogen.',
  least: 'Mindestrelevanz',
  leastLead: 'Keine Anzeige zeigen, die die Anfrage mit geringerer Wahrscheinlichkeit beantwortet.',
  leastLabel: 'Wahrscheinlichkeit, von 0 bis 1',
  leastHelp:
    'Ein leeres Feld übernimmt die Untergrenze des Netzwerks. Kleinere Werte gelten bis ' +
    'zum Minimum des Betreibers.',
  houseAds: 'Eigene Kampagnen zeigen, wo sonst nichts verkauft wird',
  houseHelp:
    'Eigenwerbung kostet und verdient nichts, und der Mindestpreis gilt nicht. Sie ist ' +
    'gekennzeichnet und hält sich an Targeting, Zeiten, Freigabe und Ihre Sperren.',
  leastSave: 'Speichern',
  leastSaved: 'Gespeichert. Sie gilt innerhalb von zwei Sekunden.',
  aim: 'Ziel',
  aims: {
    manual: 'Manuelle Gebote',
    target_cpa: 'Ziel-Kosten je Conversion',
    target_roas: 'Zielertrag der Ausgaben',
    max_conversions: 'So viele Conversions, wie das Budget erlaubt',
  },
  targetCPA: 'Ziel-Kosten je Conversion in USD',
  aimHelp:
    'Mit einem Ziel werden die Gebote aus Conversions abgeleitet, und Ihr Gebot ist das Maximum.',
  categories: 'Kategorien (IAB), z. B. IAB19',
  forecast: 'Prognose',
  forecastHelp:
    'Auf Grundlage der Auktionen der letzten 28 Tage. Gesprächstexte werden nicht ' +
    'gespeichert, deshalb grenzen Wörter die Prognose nicht ein.',
  requestsDay: 'Passende Anfragen pro Tag',
  priceUsual: 'Üblicher Preis je 1.000 Impressionen',
  priceText: (low, mid, high) => `${low} bis ${high}, die Hälfte unter ${mid}`,
  wonShare: 'Höchster Anteil, den Ihr Gebot gewinnt',
  reachDay: 'Höchstens Impressionen pro Tag',
  spendDay: 'Höchstens Ausgaben pro Tag',
  forecastFew: 'Zu wenige Anfragen passen für eine Prognose.',
  forecastHidden:
    'Zu wenige Werbetreibende bieten hier: Ein Preis würde das Gebot eines ' +
    'Werbetreibenden verraten.',
  blocks: 'Sperren',
  blocksLead: 'Was Ihre Apps nicht zeigen. Änderungen gelten innerhalb von zwei Sekunden.',
  blocksHelp: 'Ein Eintrag je Zeile, bis zu 200.',
  blockAdvertisers: 'Werbetreibende (IDs)',
  blockDomains: 'Domains von Zielseiten einschließlich Subdomains',
  blockCategories: 'Kategorien (IAB), etwa IAB7',
  blockWords: 'Wörter und Phrasen',
  blocksSave: 'Sperren speichern',
  blocksSaved: 'Gespeichert. Die Sperren gelten jetzt.',
  creatives: 'Werbemittel',
  creativesLead: 'Die Werbemittel Ihrer Kampagnen, die neuesten zuerst.',
  noCreatives: 'Noch keine Werbemittel',
  openCampaign: 'Kampagne öffnen',
  nameWaits: 'Ein Administrator prüft den Namen, bevor Ihre Anzeigen ihn zeigen.',
  nameApproved: 'Ihre Anzeigen zeigen den genehmigten Namen.',
  nameVerified: 'Ihre Anzeigen zeigen den Namen als geprüft.',
  profile: 'Profil',
  profileLead: 'Wie andere Sie sehen, und welche Daten über Sie gespeichert sind.',
  profileHelp:
    'Belege Ihrer Anzeigen zeigen die Firma oder sonst Ihren Namen, und ob er geprüft ' +
    'ist. Anzeigen zeigen ihn, sobald ein Administrator ihn genehmigt hat.',
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
    'Schlüssel werden ungültig, Kampagnen enden, Ihre E-Mail und Namen werden entfernt. ' +
    'Das Hauptbuch behält seine Zeilen unter einer anonymen ID. Restliches Guthaben und ' +
    'restliche Credits verfallen, auch offene und einbehaltene.',
  deleteCode: 'Code Ihres zweiten Faktors, wenn Sie einen haben',
  deleteSure: 'Ihr Konto endgültig löschen?',
  deleted: (left) => `Ihr Konto ist gelöscht. Restliches Guthaben: ${left}.`,
  auctions: 'Auktionen',
  auctionsLead:
    'Warum eine Auktion so endete. Sie sehen Ihre eigenen Kandidaten, den Gewinnerpreis ' +
    'und die Anzahl der anderen.',
  auctionsHelp:
    'Die ID einer Auktion steht in der Antwort auf eine Anfrage (auction_id) oder im ' +
    'Header X-Adnet-Auction-Id eines Gebots.',
  auctionId: 'ID der Auktion',
  explain: 'Erklären',
  outcome: 'Ergebnis',
  filled: 'Eine Anzeige wurde gezeigt',
  unfilled: 'Keine Anzeige',
  winnerPrice: 'Gewinnerpreis je Einheit',
  yourCandidates: 'Ihre Kandidaten und der Gewinner',
  allCandidates: 'Alle Kandidaten',
  noCandidates: 'Keine für Sie sichtbar.',
  otherCandidates: 'Andere',
  moreCandidates: 'Dahinter kann es weitere geben.',
  theRequest: 'Die Anfrage',
  floor: 'Mindestpreis je 1.000',
  notRecorded:
    'Die Auktion ist noch nicht aufgezeichnet oder nicht mehr gespeichert. Dies ist der ' +
    'Inhalt ihrer signierten ID.',
  events: 'Ereignisse',
  event: 'Ereignis',
  verdict: 'Ergebnis',
  results: {
    won: 'gewonnen',
    outbid: 'überboten',
    below_floor: 'unter dem Mindestpreis',
    budget: 'kein Budget mehr',
    paced: 'gedrosselt',
    unseen: 'durch nicht gezeigte Anzeigen belegt',
    unpaid: 'für frühere Anzeigen nichts abgerechnet',
    frequency_capped: 'Frequency Cap erreicht',
    blocked: 'vom Publisher gesperrt',
    no_match: 'keine Kampagne passte',
    irrelevant: 'keine Anzeige war relevant genug',
    no_campaigns: 'keine Kampagnen',
    stale: 'der Knoten hatte veraltete Daten',
  } as Record<string, string>,
  causes: {
    not_active: 'Ihr Zustand ist nicht „Aktiv“.',
    policy_violations: 'Ihre Anzeige verstößt gegen die Richtlinie.',
    unreviewed:
      'Noch hat niemand die jetzige Fassung genehmigt: Bis dahin läuft sie nicht, wo ein Modell sie liest, oder die zuletzt genehmigte läuft an ihrer Stelle.',
    not_started: 'Sie hat noch nicht begonnen: Ändern Sie den Beginn, oder warten Sie.',
    ended: 'Ihr Zeitraum ist vorbei: Ändern Sie das Ende.',
    total_budget_spent: 'Vom Gesamtbudget ist weniger übrig, als eine Einheit kosten kann.',
    daily_budget_spent:
      'Das Budget des Tages war oder ist aufgebraucht; um 00:00 UTC geht es weiter.',
    unpaid:
      'Für ihre Anzeigen wurde bisher zu wenig abgerechnet; bis sich das ändert, nimmt sie an ' +
      'weniger als einem Hundertstel ihrer Auktionen teil. Zahlen Sie pro Impression, reparieren ' +
      'Sie den Conversion-Schlüssel, oder bitten Sie um eine Prüfung.',
    unfunded: 'Das Guthaben ist kleiner, als eine Einheit kosten kann: Zahlen Sie ein.',
    not_propagated:
      'Dieser Knoten hat ihren neuesten Stand noch nicht: Versuchen Sie es in einer ' +
      'Sekunde noch einmal.',
    no_matching_requests:
      'In der letzten Stunde passte keine Auktion zu ihrem Targeting, oder es gab keine.',
    outbid:
      'In diesen Auktionen war eine andere Kampagne mehr wert: Erhöhen Sie das Gebot, ' +
      'oder verbessern Sie das Targeting.',
    irrelevant:
      'In keiner dieser Auktionen passte ihr Text gut genug: Beschreiben Sie in klaren ' +
      'Worten, wonach Menschen fragen.',
    below_floor: 'Ihr Preis je 1.000 Impressionen lag unter dem Mindestpreis des Publishers.',
    blocked:
      'Der Publisher sperrt ihren Werbetreibenden, ihre Zielseite, eine Kategorie oder ein Wort.',
    paced: 'Ihr Tagesbudget wird über den Tag verteilt.',
    unseen: 'Anzeigen, die nicht gezeigt wurden, belegten Ihr Tagesbudget.',
    frequency_capped: 'Das Frequency Cap war erreicht.',
    ok: 'Diese Auktionen der letzten Stunde hat sie gewonnen.',
  },
};
