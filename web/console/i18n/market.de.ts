import type { Messages } from './en';
import type { market as english } from './market.en';

export const market: Pick<Messages, keyof typeof english> = {
  hour: 'Stunde', byHour: 'Nach Stunden', chartHours: (name) => `Diagramm: ${name} nach Stunden (UTC). Die Pfeiltasten gehen durch die Stunden; die Tabelle hat alle Werte.`, step: 'Schritt', steps: { day: 'Tage', hour: 'Stunden, 7 Tage' },
  before: (value) => `Davor: ${value}`, change: (part, value) => `${part} gegen ${value} davor`, asCSV: 'Als CSV', copyCampaign: 'Kopieren',
  starts: 'Beginnt', ends: 'Endet', atOnce: 'sofort', never: 'wenn das Budget aufgebraucht ist', datesHelp: 'Daten sind in UTC, auf die Minute. Lassen Sie eines leer für keines.', changeDates: 'Daten ändern', resumeIt: 'Fortsetzen', submitIt: 'Einreichen', raiseBid: 'Gebot erhöhen', widen: 'Publikum erweitern',
  breakdownsMore: { format: 'Format', host_app: 'App', integration_method: 'Methode', publisher: 'Publisher', surface: 'Fläche', region: 'Region', language: 'Sprache' },
  aim: 'Ziel', aims: { manual: 'Bieten, was ich sage', target_cpa: 'Eine Conversion zu einem Preis', max_conversions: 'So viele Conversions, wie das Budget kauft' }, targetCPA: 'Eine Conversion darf kosten, in USD', aimHelp: 'Mit einem Ziel entstehen die Gebote aus Conversions, und Ihr Gebot ist das höchste.',
  categories: 'Kategorien (IAB), z. B. IAB19', forecast: 'Prognose', forecastHelp: 'Aus den Auktionen der letzten 28 Tage. Was Menschen darin sagen, wird nicht aufbewahrt; Wörter grenzen sie darum nicht ein.', requestsDay: 'Passende Anfragen am Tag', priceUsual: 'Üblicher Preis für 1.000 Impressionen', priceText: (low, mid, high) => `${low} bis ${high}, die Hälfte unter ${mid}`,
  wonShare: 'Ihr Gebot gewänne höchstens', reachDay: 'Impressionen am Tag, höchstens', spendDay: 'Ausgaben am Tag, höchstens', forecastFew: 'Zu wenige Anfragen passen für eine Prognose.', forecastHidden: 'Zu wenige Werbetreibende bieten hier: Ein Preis würde verraten, was einer von ihnen bietet.',
  blocks: 'Sperren', blocksLead: 'Was Ihre Apps nicht zeigen. Auktionen gehorchen innerhalb von zwei Sekunden.', blocksHelp: 'Ein Eintrag je Zeile, bis zu 200.', blockAdvertisers: 'Werbetreibende (ihre Kennungen)', blockDomains: 'Domains von Zielseiten mit allen darunter', blockCategories: 'Kategorien (IAB), etwa IAB7', blockWords: 'Wörter und Wendungen', blocksSave: 'Sperren speichern', blocksSaved: 'Gespeichert. Auktionen gehorchen jetzt.',
  creatives: 'Anzeigen', creativesLead: 'Was Ihre Kampagnen zeigen, die neuesten zuerst.', noCreatives: 'Noch keine Anzeigen', openCampaign: 'Kampagne öffnen',
};
