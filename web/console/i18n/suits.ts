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

/** Beside which conversations a campaign runs, and what it is of. */
const en = {
  subjects,
  trades,
  sensitive: 'Sensitive conversations beside which it may run',
  sensitiveHelp:
    'Only in apps whose publisher allows the subject, too. Nothing is chosen by default.',
  excluded: 'Conversations beside which it never runs',
  restricted: 'Restricted trades',
  restrictedHelp:
    'Tick what you advertise: a reviewer looks at the campaign first, and again whenever ' +
    'this changes. Alcohol, gambling, dating, weight loss, weapons and tobacco are shown ' +
    'to adults only; politics may be off in this network.',
  none: 'none',
  rules: {
    restricted_trade: 'A restricted trade',
    trade_undeclared: 'A trade that is not declared',
    never_words: 'Words beside which no ad is shown',
  } as Record<string, string>,
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
    legal: 'Ärger mit dem Recht',
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
  sensitive: 'Heikle Gespräche, neben denen sie laufen darf',
  sensitiveHelp: 'Nur in Apps, deren Anbieter das Thema auch erlaubt. Anfangs ist nichts gewählt.',
  excluded: 'Gespräche, neben denen sie nie läuft',
  restricted: 'Beschränkte Branchen',
  restrictedHelp:
    'Geben Sie an, wofür Sie werben: Zuerst sieht sich ein Mensch die Kampagne an, und ' +
    'nach jeder Änderung hier wieder. Alkohol, Glücksspiel, Partnersuche, Abnehmen, ' +
    'Waffen und Tabak sehen nur Erwachsene; Politik kann in diesem Netzwerk abgeschaltet ' +
    'sein.',
  none: 'keine',
  rules: {
    restricted_trade: 'Eine beschränkte Branche',
    trade_undeclared: 'Eine Branche, die nicht angegeben ist',
    never_words: 'Wörter, neben denen es keine Anzeige gibt',
  },
};

export const suits = () => texts(en, de);

/** The titles of ids, those of a newer server as they are. */
export function titles(ids: string[], of: Record<string, string>): string {
  return ids.map((id) => of[id] ?? id).join(', ') || suits().none;
}
