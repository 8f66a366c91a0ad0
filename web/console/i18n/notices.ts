import { texts } from '../state';

/** The texts of the choice of mails, loaded only with its screen. */
const en = {
  title: 'Mails',
  help: 'At most one mail of a kind a day. Every mail has a link that ends its kind.',
  unsent: 'This installation sends no mails.',
  unconfirmed:
    'Your address is not confirmed, so it gets no mails. Request a new password: the mailed link confirms it.',
  language: 'Language of the mails',
  saved: 'Saved.',
  kinds: {
    'campaign.approved': 'A campaign was approved',
    'campaign.rejected': 'A campaign was rejected',
    'campaign.ended': 'A campaign has ended',
    'campaign.first_ad': 'A campaign has shown its first ad',
    'campaign.budget_spent': 'A campaign has spent its budget',
    'balance.low': 'The balance lasts for less than three days',
    'key.unused': 'No key has shown an ad for 14 days',
    'credits.released': 'Credits were released',
    'quarantine.ended': 'A case about your traffic was decided',
    'report.weekly': 'Weekly report, on Mondays',
    'review.waiting': 'Campaigns have waited for review for more than a day',
    'reports.waiting': 'Reports have waited for more than a day',
    'appeals.waiting': 'Appeals have waited for more than a day',
  } as Record<string, string>,
};

const de: typeof en = {
  title: 'E-Mails',
  help: 'Höchstens eine E-Mail jeder Art am Tag. Jede hat einen Link, der ihre Art abbestellt.',
  unsent: 'Diese Installation versendet keine E-Mails.',
  unconfirmed:
    'Ihre Adresse ist nicht bestätigt und erhält keine E-Mails. Fordern Sie ein neues Passwort an: Der Link in der E-Mail bestätigt sie.',
  language: 'Sprache der E-Mails',
  saved: 'Gespeichert.',
  kinds: {
    'campaign.approved': 'Eine Kampagne wurde freigegeben',
    'campaign.rejected': 'Eine Kampagne wurde abgelehnt',
    'campaign.ended': 'Eine Kampagne ist beendet',
    'campaign.first_ad': 'Eine Kampagne hat ihre erste Anzeige gezeigt',
    'campaign.budget_spent': 'Eine Kampagne hat ihr Budget ausgegeben',
    'balance.low': 'Das Guthaben reicht für weniger als drei Tage',
    'key.unused': 'Kein Schlüssel hat seit 14 Tagen eine Anzeige gezeigt',
    'credits.released': 'Credits wurden freigegeben',
    'quarantine.ended': 'Über einen Fall zu Ihrem Traffic wurde entschieden',
    'report.weekly': 'Wochenbericht, montags',
    'review.waiting': 'Kampagnen warten seit mehr als einem Tag auf Prüfung',
    'reports.waiting': 'Meldungen warten seit mehr als einem Tag',
    'appeals.waiting': 'Einsprüche warten seit mehr als einem Tag',
  },
};

export const n = () => texts(en, de);
