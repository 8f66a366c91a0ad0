import { texts } from '../state';

/** The texts of decisions and appeals, loaded only with their screens. */
const en = {
  title: 'Decisions',
  lead: 'Decisions about your account and your ads, their reasons, and your options.',
  none: 'Nothing was decided against you',
  noneHelp:
    'Rejected campaigns, campaigns paused by others, Credits held or taken back, and ' +
    'suspensions appear here with the reason.',
  kinds: {
    rejection: 'Campaign rejected',
    pause: 'Campaign paused',
    hold: 'Credits held',
    clawback: 'Credits taken back',
    suspension: 'Account suspended',
    name: 'Name rejected',
  } as Record<string, string>,
  effects: {
    rejection: 'The campaign is not shown until it is changed and approved.',
    pause: 'The campaign is not shown until it is resumed.',
    hold: 'Credits that you earn are held until the case is decided.',
    clawback: 'The Credits of the case are taken back, and the advertisers have been refunded.',
    name:
      'The name is removed from your profile and from receipts. You may submit another ' +
      'one, or the same after an appeal.',
    suspension:
      'Your campaigns are not shown, and your keys and sessions do not work, until an ' +
      'administrator ends the suspension.',
  } as Record<string, string>,
  effect: 'Effect',
  reason: 'Reason',
  rule: 'Rule',
  about: 'About',
  by: 'Decided by',
  machine: 'This server, automatically',
  person: 'A person',
  appeal: 'Appeal',
  appealTitle: 'Appeal against this decision',
  appealLabel: 'Why the decision is wrong',
  appealHelp:
    'An administrator of this network reviews it. You may also turn to a certified ' +
    'out-of-court dispute settlement body, or to a court.',
  appealed: 'Your appeal was sent.',
  appeals: 'Appeals',
  waits: 'Waits for an administrator',
  outcomes: { upheld: 'The decision stands', reversed: 'The decision was taken back' } as Record<
    string,
    string
  >,
  suspendedTitle: 'Your account is suspended',
  suspendedHelp:
    'You can read the reason, appeal, and sign out. Nothing else works until the suspension ends.',
  queue: 'Appeals',
  queueLead:
    'Appeals of account owners against decisions. Someone other than the decider should ' +
    'review them.',
  queueNone: 'No appeal waits',
  uphold: 'Uphold',
  reverse: 'Reverse',
  upholdTitle: 'Uphold the decision?',
  reverseTitle: 'Reverse the decision?',
  words: 'Reason (visible to the owner)',
  reverseHelp:
    'The account is restored, the campaign approved or resumed, the case released. ' +
    'Refund clawed back Credits manually.',
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
  lead: 'Entscheidungen über Ihr Konto und Ihre Anzeigen, ihre Gründe und Ihre Möglichkeiten.',
  none: 'Keine Entscheidungen gegen Sie',
  noneHelp:
    'Abgelehnte Kampagnen, von anderen pausierte Kampagnen, einbehaltene oder ' +
    'zurückgenommene Credits und Sperrungen erscheinen hier mit der Begründung.',
  kinds: {
    rejection: 'Kampagne abgelehnt',
    pause: 'Kampagne pausiert',
    hold: 'Credits einbehalten',
    clawback: 'Credits zurückgenommen',
    suspension: 'Konto gesperrt',
    name: 'Name abgelehnt',
  },
  effects: {
    rejection: 'Die Kampagne wird nicht gezeigt, bis sie geändert und genehmigt ist.',
    pause: 'Die Kampagne wird nicht gezeigt, bis sie fortgesetzt wird.',
    hold: 'Credits, die Sie verdienen, werden einbehalten, bis der Fall entschieden ist.',
    clawback:
      'Die Credits des Falls sind zurückgenommen, und die Werbetreibenden haben ihr Geld zurück.',
    name:
      'Der Name ist aus Ihrem Profil und von Belegen entfernt. Sie können einen anderen ' +
      'einreichen, nach einer Beschwerde auch denselben.',
    suspension:
      'Ihre Kampagnen werden nicht gezeigt, und Ihre Schlüssel und Sitzungen sind ' +
      'ungültig, bis ein Administrator die Sperrung beendet.',
  },
  effect: 'Auswirkung',
  reason: 'Begründung',
  rule: 'Regel',
  about: 'Betrifft',
  by: 'Entschieden von',
  machine: 'Diesem Server, automatisch',
  person: 'Einem Menschen',
  appeal: 'Beschwerde',
  appealTitle: 'Beschwerde gegen diese Entscheidung',
  appealLabel: 'Warum die Entscheidung falsch ist',
  appealHelp:
    'Ein Administrator dieses Netzwerks prüft sie. Sie können sich auch an eine ' +
    'zertifizierte außergerichtliche Streitbeilegungsstelle oder ein Gericht wenden.',
  appealed: 'Ihre Beschwerde ist abgeschickt.',
  appeals: 'Beschwerden',
  waits: 'Wartet auf einen Administrator',
  outcomes: {
    upheld: 'Die Entscheidung wurde bestätigt',
    reversed: 'Die Entscheidung wurde zurückgenommen',
  },
  suspendedTitle: 'Ihr Konto ist gesperrt',
  suspendedHelp:
    'Sie können den Grund lesen, Beschwerde einlegen und sich abmelden. Alles andere ' +
    'ist bis zum Ende der Sperrung nicht möglich.',
  queue: 'Beschwerden',
  queueLead:
    'Beschwerden von Konten gegen Entscheidungen. Eine andere Person als die ' +
    'entscheidende sollte sie prüfen.',
  queueNone: 'Keine offenen Beschwerden',
  uphold: 'Bestätigen',
  reverse: 'Zurücknehmen',
  upholdTitle: 'Die Entscheidung bestätigen?',
  reverseTitle: 'Die Entscheidung zurücknehmen?',
  words: 'Begründung (für das Konto sichtbar)',
  reverseHelp:
    'Das Konto wird entsperrt, die Kampagne genehmigt oder fortgesetzt, der Fall ' +
    'freigegeben. Zurückgenommene Credits erstatten Sie manuell.',
  answered: 'Die Beschwerde ist entschieden.',
  owner: 'Konto',
};

export const d = () => texts(en, de);
