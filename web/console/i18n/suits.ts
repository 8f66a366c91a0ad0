import type { Schemas } from '../../shared/api';
import { texts } from '../state';

type Subjects = Record<Schemas['SensitiveID'], string>;
type Trades = Record<Schemas['TradeID'], string>;

const subjects: Subjects = {
  health: 'Health conditions',
  mental_health: 'Mental health',
  grief: 'Pregnancy loss and grief',
  addiction: 'Addiction',
  religion: 'Religion',
  sexuality: 'Sexuality',
  politics: 'Politics and elections',
  legal: 'Legal trouble',
  debt: 'Debt and job loss',
  immigration: 'Immigration and origin',
  disasters: 'Disasters and wars',
  gambling: 'Gambling',
  alcohol: 'Alcohol',
  tobacco: 'Tobacco',
  drugs: 'Drugs',
};
const trades: Trades = {
  alcohol: 'Alcohol',
  gambling: 'Gambling',
  dating: 'Dating',
  health: 'Medicine and health claims',
  weight_loss: 'Weight loss',
  credit: 'Credit',
  crypto: 'Crypto-assets',
  weapons: 'Weapons',
  tobacco: 'Tobacco',
  politics: 'Politics',
};

/** The conversations of a campaign and its restricted trades. */
const en = {
  subjects,
  trades,
  sensitiveHelp:
    'Only in apps whose publisher also allows the subject. Nothing is selected by default.',
  restrictedHelp:
    'Select what you advertise. A reviewer checks the campaign first, and again after ' +
    'every change here. Alcohol, gambling, dating, weight loss, weapons and tobacco are ' +
    'shown only to adults. Politics may be disabled in this network.',
  none: 'none',
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : Texts<T[K]> };

const de: Texts<typeof en> = {
  subjects: {
    health: 'Krankheiten',
    mental_health: 'Seelische Gesundheit',
    grief: 'Fehlgeburt und Trauer',
    addiction: 'Sucht',
    religion: 'Religion',
    sexuality: 'Sexualität',
    politics: 'Politik und Wahlen',
    legal: 'Rechtliche Probleme',
    debt: 'Schulden und Arbeitslosigkeit',
    immigration: 'Einwanderung und Herkunft',
    disasters: 'Katastrophen und Kriege',
    gambling: 'Glücksspiel',
    alcohol: 'Alkohol',
    tobacco: 'Tabak',
    drugs: 'Drogen',
  },
  trades: {
    alcohol: 'Alkohol',
    gambling: 'Glücksspiel',
    dating: 'Partnersuche',
    health: 'Arzneien und Heilversprechen',
    weight_loss: 'Abnehmen',
    credit: 'Kredit',
    crypto: 'Kryptowerte',
    weapons: 'Waffen',
    tobacco: 'Tabak',
    politics: 'Politik',
  },
  sensitiveHelp:
    'Nur in Apps, deren Publisher das Thema ebenfalls erlaubt. Anfangs ist nichts ausgewählt.',
  restrictedHelp:
    'Wählen Sie aus, wofür Sie werben. Zuerst prüft ein Mensch die Kampagne, und nach ' +
    'jeder Änderung hier noch einmal. Alkohol, Glücksspiel, Partnersuche, Abnehmen, ' +
    'Waffen und Tabak sehen nur Erwachsene. Politik kann in diesem Netzwerk ' +
    'abgeschaltet sein.',
  none: 'keine',
};

export const suits = () => texts(en, de);

/** The titles of ids. Ids of a newer server are returned unchanged. */
export function titles(ids: string[], of: Record<string, string>): string {
  return ids.map((id) => of[id] ?? id).join(', ') || suits().none;
}
