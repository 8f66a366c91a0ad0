import type { Messages } from './en';
import type { advert as english } from './advert.en';

/** The German of advert.en.ts. */
export const advert: Pick<Messages, keyof typeof english> = {
  wizardLead:
    'Wenige Schritte. Ihre Eingaben bleiben beim Vor- und Zurückgehen erhalten, und vor ' +
    'dem letzten Schritt wird nichts gespeichert.',
  stepList: 'Schritte',
  stepOf: (n, of, name) => `Schritt ${n} von ${of}: ${name}`,
  stepNames: {
    goal: 'Ziel',
    audience: 'Zielgruppe',
    creative: 'Werbemittel',
    check: 'Prüfung',
    budget: 'Budget und Gebot',
    forecast: 'Prognose',
    summary: 'Zusammenfassung',
  },
  stepNext: 'Weiter',
  stepBack: 'Zurück',
  checkHelp:
    'Das Ergebnis der Richtlinienprüfung Ihrer Texte und Links. Funde halten Sie nicht ' +
    'auf: Ein Mensch prüft sie, bevor die Anzeige läuft.',
  changeCreative: 'Werbemittel ändern',
  format: 'Format',
  formatOpen: 'Aus dem Bild abgeleitet',
  formats: { image: 'Bild', video: 'Video', native: 'Nur Texte' },
  film: 'Video (Link zu einer MP4)',
  poster: 'Bild vor dem Video',
  skippable: 'Überspringbar nach, in Sekunden',
  mendVideo: 'Geben Sie die Adresse des Videos an, die mit https:// beginnt.',
  mendSkip: 'Geben Sie ganze Sekunden von 0 bis 3.600 an.',
  surfacesLabel: 'Platzierungen in einer App',
  mendAmount: (low, high) => `Geben Sie einen Betrag von ${low} bis ${high} an.`,
  mendLink:
    'Geben Sie eine vollständige Adresse an, die mit https:// beginnt, etwa ' +
    'https://shop.example/start.',
  mendHeadline: 'Schreiben Sie eine Überschrift mit bis zu 60 Zeichen.',
  mendLanding: 'Geben Sie die Adresse der Zielseite an, die mit https:// beginnt.',
  mendCap: 'Geben Sie eine ganze Zahl von 0 (unbegrenzt) bis 1.000 an.',
  mendEnd: 'Wählen Sie ein Ende nach dem Beginn.',
  mendPast: 'Wählen Sie ein Ende in der Zukunft, oder lassen Sie es leer.',
  surfacesShown: {
    card: 'Karte in einer Seite',
    embed: 'Einbettung im Chat',
    text: 'Text in einer Seite',
    mcp: 'Karte einer MCP-App',
    vast: 'Video (VAST)',
  },
  bannerOf: (size) => `Banner ${size}`,
  notHere: (surface, why) => `${surface} (${why})`,
  unserved: {
    image: 'braucht das Format Bild',
    video: 'braucht das Format Video',
    view: 'meldet keine Sichtkontakte',
  },
  samplePicture: 'Bild oder Video ist ein Muster, weil sich das eigene nicht laden lässt.',
  conversionTypes: 'Arten',
  conversionType: 'Art',
  conversionValue: 'Wert (USD)',
  lastReceived: 'Zuletzt empfangen',
  noConversions: 'In diesem Zeitraum wurden keine Conversions gezählt.',
  conversionsLead: 'Was Ihre Anzeigen verkauft haben, gemeldet von Ihrem eigenen Server.',
  conversionsCounted: 'Conversions',
  conversionsUnverified: 'Nicht bestätigt',
  unverifiedHelp: 'Ohne echte Klick-ID und Ihren Schlüssel: nie berechnet',
  conversionReport: 'Eine Conversion melden',
  conversionHelp:
    'Die URL Ihrer Zielseite enthält adnet_click. Speichern Sie den Wert zum Besuch und ' +
    'senden Sie ihn von Ihrem Server, wenn der Besucher kauft.',
  conversionKey: 'Conversion-Schlüssel erstellen',
  conversionTest: 'Klick-ID testen',
  conversionTestHelp: 'Nichts wird aufgezeichnet oder berechnet.',
  clickID: 'Klick-ID (adnet_click)',
  conversionTry: 'Testen',
  conversionReasons: {
    ok: 'Sie würde als bestätigt angenommen. Gezählt wird eine Conversion je Klick.',
    bad_click_id:
      'Diese Klick-ID stammt nicht von diesem Server oder ist zu alt. Senden Sie ' +
      'adnet_click genau wie in der URL der Zielseite.',
    expired: 'Der Klick ist zu alt.',
    not_yours: 'Der Klick gehört zur Kampagne eines anderen Kontos.',
  },
};
