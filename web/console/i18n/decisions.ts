import { texts } from '../state';

/** The texts of decisions and appeals, which come with their screens only. */
const en = {
  title: 'Decisions',
  lead: 'What was decided about your account and your ads, why, and what you can do about it.',
  none: 'Nothing was decided against you',
  noneHelp:
    'A rejected campaign, one that somebody else paused, Credits that are held or taken ' +
    'back, and a suspension would stand here, with the reason.',
  kinds: {
    rejection: 'Campaign rejected',
    pause: 'Campaign paused',
    hold: 'Credits held',
    clawback: 'Credits taken back',
    suspension: 'Account suspended',
    name: 'Name rejected',
  } as Record<string, string>,
  effects: {
    rejection: 'The campaign is shown nowhere until it is changed and approved.',
    pause: 'The campaign is shown nowhere until it is resumed.',
    hold: 'Credits that you earn are held until the case is decided.',
    clawback: 'The Credits of the case are gone, and who paid for its traffic has the money back.',
    name:
      'The name is gone from your profile and from receipts. You may say another one, or ' +
      'after an appeal the same.',
    suspension:
      'Your campaigns are shown nowhere, your keys and sessions do not work. It lasts ' +
      'until an administrator ends it.',
  } as Record<string, string>,
  effect: 'What it means',
  reason: 'Reason',
  rule: 'Rule',
  about: 'About',
  by: 'Decided by',
  machine: 'This server, by rule',
  person: 'A person',
  appeal: 'Appeal',
  appealTitle: 'Appeal against this decision',
  appealLabel: 'Why the decision is wrong',
  appealHelp:
    'An administrator of this network looks at it again. Besides this you may turn to a ' +
    'certified out-of-court dispute settlement body, or to a court.',
  appealed: 'Your appeal was sent.',
  appeals: 'Appeals',
  waits: 'Waits for an administrator',
  outcomes: { upheld: 'The decision stands', reversed: 'The decision was taken back' } as Record<
    string,
    string
  >,
  suspendedTitle: 'Your account is suspended',
  suspendedHelp:
    'You can read why, appeal, and sign out. Nothing else works until the suspension ends.',
  queue: 'Appeals',
  queueLead:
    'What owners say against decisions. Who took the decision should not be the only one ' +
    'who looks again.',
  queueNone: 'No appeal waits',
  uphold: 'Uphold',
  reverse: 'Reverse',
  upholdTitle: 'Let the decision stand?',
  reverseTitle: 'Take the decision back?',
  words: 'Why; the owner reads it',
  reverseHelp:
    'The account is restored, the campaign approved or resumed, the case released. What ' +
    'was clawed back you give back by hand.',
  answered: 'The appeal is decided.',
  owner: 'Account',
};

type Texts<T> = {
  [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Texts<T[K]>;
};

const de: Texts<typeof en> = {
  title: 'Entscheidungen',
  lead:
    'Was über Ihr Konto und Ihre Anzeigen entschieden wurde, warum, und was Sie dagegen ' +
    'tun können.',
  none: 'Nichts wurde gegen Sie entschieden',
  noneHelp:
    'Eine abgelehnte Kampagne, eine von anderen angehaltene, einbehaltene oder ' +
    'zurückgenommene Credits und eine Sperrung ständen hier, mit der Begründung.',
  kinds: {
    rejection: 'Kampagne abgelehnt',
    pause: 'Kampagne angehalten',
    hold: 'Credits einbehalten',
    clawback: 'Credits zurückgenommen',
    suspension: 'Konto gesperrt',
    name: 'Name abgelehnt',
  },
  effects: {
    rejection: 'Die Kampagne erscheint nirgends, bis sie geändert und genehmigt ist.',
    pause: 'Die Kampagne erscheint nirgends, bis sie fortgesetzt wird.',
    hold: 'Credits, die Sie verdienen, werden einbehalten, bis der Fall entschieden ist.',
    clawback:
      'Die Credits des Falls sind weg, und wer für den Verkehr zahlte, hat das Geld zurück.',
    name:
      'Der Name ist aus Ihrem Profil und von Belegen verschwunden. Sie können einen ' +
      'anderen nennen, nach einem Einspruch auch denselben.',
    suspension:
      'Ihre Kampagnen erscheinen nirgends, Ihre Schlüssel und Sitzungen gehen nicht. Das ' +
      'gilt, bis ein Administrator es beendet.',
  },
  effect: 'Was das bedeutet',
  reason: 'Begründung',
  rule: 'Regel',
  about: 'Betrifft',
  by: 'Entschieden von',
  machine: 'Diesem Server, nach Regel',
  person: 'Einem Menschen',
  appeal: 'Beschwerde',
  appealTitle: 'Beschwerde gegen diese Entscheidung',
  appealLabel: 'Warum die Entscheidung falsch ist',
  appealHelp:
    'Ein Administrator dieses Netzes sieht sie sich noch einmal an. Daneben können Sie ' +
    'sich an eine zertifizierte außergerichtliche Streitbeilegungsstelle oder ein ' +
    'Gericht wenden.',
  appealed: 'Ihre Beschwerde ist abgeschickt.',
  appeals: 'Beschwerden',
  waits: 'Wartet auf einen Administrator',
  outcomes: {
    upheld: 'Die Entscheidung bleibt',
    reversed: 'Die Entscheidung wurde zurückgenommen',
  },
  suspendedTitle: 'Ihr Konto ist gesperrt',
  suspendedHelp:
    'Sie können lesen, warum, sich beschweren und sich abmelden. Sonst geht nichts, bis ' +
    'die Sperrung endet.',
  queue: 'Beschwerden',
  queueLead:
    'Was Konten gegen Entscheidungen vorbringen. Wer entschieden hat, sollte nicht als ' +
    'Einziger noch einmal hinsehen.',
  queueNone: 'Keine Beschwerde wartet',
  uphold: 'Bestätigen',
  reverse: 'Zurücknehmen',
  upholdTitle: 'Die Entscheidung bestätigen?',
  reverseTitle: 'Die Entscheidung zurücknehmen?',
  words: 'Warum; das Konto liest es',
  reverseHelp:
    'Das Konto wird entsperrt, die Kampagne genehmigt oder fortgesetzt, der Fall ' +
    'freigegeben. Was zurückgenommen wurde, geben Sie von Hand zurück.',
  answered: 'Die Beschwerde ist entschieden.',
  owner: 'Konto',
};

export const d = () => texts(en, de);
