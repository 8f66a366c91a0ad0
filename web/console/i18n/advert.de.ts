import type { Messages } from './en';
import type { advert as english } from './advert.en';

/** The German of advert.en.ts. */
export const advert: Pick<Messages, keyof typeof english> = {
  wizardLead:
    'Einige Schritte; was Sie tippen, bleibt beim Vor- und Zurückgehen, und vor dem ' +
    'letzten wird nichts gespeichert.',
  stepList: 'Schritte',
  stepOf: (n, of, name) => `Schritt ${n} von ${of}: ${name}`,
  stepNames: {
    goal: 'Ziel',
    audience: 'Publikum',
    creative: 'Anzeige',
    check: 'Prüfung',
    budget: 'Budget und Gebot',
    forecast: 'Vorhersage',
    summary: 'Zusammenfassung',
  },
  stepNext: 'Weiter',
  stepBack: 'Zurück',
  checkHelp:
    'Was die Regeln zu Texten und Links sagen. Was sie finden, hält Sie nicht auf: Ein ' +
    'Mensch sieht es an, bevor die Anzeige läuft.',
  changeCreative: 'Anzeige ändern',
  format: 'Format',
  formatOpen: 'Wie das Bild es sagt',
  formats: { image: 'Bild', video: 'Video', native: 'Nur Texte' },
  film: 'Video (Link zu einer MP4)',
  poster: 'Bild vor dem Video',
  skippable: 'Überspringbar nach, in Sekunden',
  mendVideo: 'Geben Sie die Adresse des Videos an; sie beginnt mit https://.',
  mendSkip: 'Geben Sie ganze Sekunden von 0 bis 3.600 an.',
  surfacesLabel: 'Orte in einer App',
  mendAmount: (low, high) => `Geben Sie einen Betrag von ${low} bis ${high} an.`,
  mendLink:
    'Geben Sie eine ganze Adresse an, die mit https:// beginnt, etwa https://shop.example/start.',
  mendHeadline: 'Schreiben Sie eine Überschrift: was man zuerst liest, bis zu 60 Zeichen.',
  mendLanding: 'Geben Sie die Adresse an, zu der ein Klick führt; sie beginnt mit https://.',
  mendCap: 'Geben Sie eine ganze Zahl von 0 (beliebig viele) bis 1.000 an.',
  mendEnd: 'Wählen Sie ein Ende nach dem Anfang.',
  mendPast: 'Wählen Sie ein Ende in der Zukunft, oder lassen Sie es leer.',
  surfacesShown: {
    card: 'Karte in einer Seite',
    embed: 'Einbettung im Chat',
    text: 'Text in einer Seite',
    mcp: 'Karte einer MCP-App',
    vast: 'Video (VAST)',
  },
  bannerOf: (size) => `Banner ${size}`,
  notHere: 'Diese Anzeige steht dort nicht: Banner brauchen ein Bild, Abspieler ein Video.',
  samplePicture: 'Bilder und Film sind Muster, weil keine da sind, die sich laden lassen.',
  conversionTypes: 'Arten der letzten 30 Tage',
  conversionType: 'Art',
  conversionValue: 'Wert (USD)',
  lastReceived: 'Zuletzt empfangen',
  noConversions: 'In diesen Tagen wurde keine Conversion gezählt.',
  conversionsLead: 'Was Ihre Anzeigen verkauft haben, wie Ihr eigener Server es meldet.',
  conversionsCounted: 'Conversions, 30 Tage',
  conversionsUnverified: 'Nicht bestätigt, 30 Tage',
  unverifiedHelp: 'Ohne echte Klick-Kennung und Ihren Schlüssel: nie berechnet',
  conversionReport: 'Eine Conversion melden',
  conversionHelp:
    'Ihre Zielseite bekommt adnet_click in ihrer Adresse. Behalten Sie es beim Besuch, ' +
    'und senden Sie es von Ihrem Server, wenn jemand kauft.',
  conversionKey: 'Einen Schlüssel für Conversions machen',
  conversionTest: 'Eine Klick-Kennung probieren',
  conversionTestHelp: 'Nichts wird aufgezeichnet oder berechnet.',
  clickID: 'Klick-Kennung (adnet_click)',
  conversionTry: 'Probieren',
  conversionReasons: {
    ok: 'Sie würde als bestätigt angenommen. Gezählt wird eine je Klick.',
    bad_click_id:
      'Diese Klick-Kennung ist nicht von diesem Server oder zu alt. Senden Sie ' +
      'adnet_click, wie die Zielseite es bekam.',
    expired: 'Der Klick ist zu lange her.',
    not_yours: 'Der Klick gehört zur Kampagne eines anderen Kontos.',
  },
};
