import type { ErrorTexts } from './errors';

export const errors: ErrorTexts = {
  codes: {
    invalid_request: 'Eine Angabe ist ungültig',
    missing_context: 'Das Gespräch fehlt',
    insufficient_credit: 'Die Credits reichen nicht',
    invalid_state: 'Der jetzige Zustand erlaubt das nicht',
    invalid_token: 'Die Anmeldung oder der Schlüssel gilt nicht mehr. Melden Sie sich neu an',
    invalid_credentials: 'Diese Anmeldedaten stimmen nicht',
    missing_authorization: 'Dafür ist eine Anmeldung nötig',
    forbidden: 'Das ist diesem Konto nicht erlaubt',
    second_factor_required: 'Dafür ist ein zweiter Faktor nötig',
    not_found: 'Das gibt es nicht, oder es gehört einem anderen Konto',
    method_not_allowed: 'Diese Adresse kennt diesen Aufruf nicht',
    conflict: 'Das gibt es schon, oder es wurde inzwischen geändert. Laden Sie neu',
    precondition_failed: 'Es wurde inzwischen geändert. Vergleichen Sie mit dem jetzigen Stand',
    retired: 'Das gibt es nicht mehr',
    payload_too_large: 'Die Anfrage ist zu groß',
    unsupported_encoding: 'Diese Kodierung versteht der Server nicht',
    rate_limited: 'Zu viele Anfragen. Warten Sie einen Augenblick',
    demo_mode: 'Das geht in der Demo nicht',
    unavailable: 'Ein Dienst ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal',
    upstream_error: 'Der Dienst eines anderen Anbieters hat nicht geantwortet',
    internal: 'Im Server ist ein Fehler aufgetreten. Versuchen Sie es noch einmal',
    invalid_idempotency_key: 'Der Schlüssel gegen Wiederholungen ist ungültig',
    idempotency_conflict: 'Derselbe Schlüssel gehört schon zu einer anderen Anfrage',
    idempotency_in_progress: 'Die erste Anfrage mit diesem Schlüssel läuft noch',
  },
  rules: {
    hidden_text: 'Der Text enthält unsichtbare oder umkehrende Zeichen.',
    model_instruction: 'Der Text muss sich an Menschen richten. Er darf kein Modell anweisen.',
    markup: 'Auszeichnungen und Platzhalter von Vorlagen sind nicht erlaubt.',
    link_in_text: 'Links gehören in das Feld der Zielseite, nicht in Texte.',
    mixed_scripts: 'Ein Wort darf keine Buchstaben verschiedener Schriften mischen.',
    unreadable_text: 'Der Text muss aus gewöhnlichen Buchstaben und Wörtern bestehen.',
    unread_language: 'Diese Sprachen kann die Prüfung nicht lesen. Ein Mensch prüft die Texte.',
    shouting: 'Der Text darf nicht nur aus Großbuchstaben bestehen.',
    prohibited: 'Für diese Art von Produkten wird hier nicht geworben.',
    misleading: 'Versprechen sicherer Gewinne sind nicht erlaubt.',
    private_host: 'Der Host ist eine IP-Adresse oder kein öffentlicher Name.',
    imitated_host: 'Der Host ist mit einem anderen zu verwechseln. Nehmen Sie eine eigene Domain.',
    link_shortener:
      'Ein Kurzlink kann morgen woandershin führen. Nehmen Sie die Adresse der Seite.',
    unusual_port: 'Der Link nennt einen Port. Nehmen Sie den üblichen Port von https.',
    unreviewed: 'Diese Fassung hat noch niemand freigegeben.',
    unreviewed_change: 'Texte, Links oder Branchen wurden nach der Freigabe geändert.',
    restricted_trade: 'Die Branche ist beschränkt. Ein Mensch prüft die Kampagne zuerst.',
    trade_undeclared: 'Die Texte nennen eine beschränkte Branche, die nicht angegeben ist.',
    never_words: 'Diese Wörter gehören zu Themen, bei denen keine Anzeigen erscheinen.',
    account_suspended: 'Das Konto ist gesperrt. Der Grund steht unter Entscheidungen.',
    reported: 'Leser haben die Anzeige gemeldet. Ein Mensch prüft sie.',
    paused_by_administrator:
      'Ein Administrator hat die Kampagne angehalten. Der Grund steht unter Entscheidungen.',
    held_by_administrator:
      'Ein Administrator hält die Kampagne an. Der Grund steht unter Entscheidungen.',
  },
  forms: {
    'is required': 'Die Angabe fehlt.',
    'may have at most %d values': 'Höchstens %1 Einträge.',
    'has no text: leave it out, or send an empty list, which sets no condition':
      'Der Eintrag ist leer. Löschen Sie ihn.',
    'has no letter or digit, so nothing can match it: leave it out':
      'Der Eintrag hat weder Buchstaben noch Ziffern. Löschen Sie ihn.',
    'is longer than %d bytes or contains control characters':
      'Höchstens %1 Bytes, ohne Steuerzeichen.',
    "must be a category of the IAB's Content Taxonomy 1.0, such as IAB7 or IAB7-39":
      'Nötig ist eine Kategorie der IAB Content Taxonomy 1.0, wie IAB7 oder IAB7-39.',
    'viewable needs billing_model cpm: with %s nothing is paid for a view':
      'Für gesehene Impressionen zahlt nur, wer für Impressionen bietet, nicht bei %1.',
    'is longer than %d characters': 'Höchstens %1 Zeichen.',
    'holds control characters': 'Steuerzeichen sind nicht erlaubt.',
    'must be an absolute HTTPS URL: %s': 'Nötig ist eine ganze Adresse mit https: %1.',
    'it is longer than %d bytes': 'Sie hat mehr als %1 Bytes',
    'it contains spaces, backslashes or control characters':
      'Sie enthält Leerzeichen, umgekehrte Schrägstriche oder Steuerzeichen',
    'it cannot be parsed': 'Sie ist nicht lesbar',
    'its scheme is not https': 'Sie beginnt nicht mit https',
    'it has no host': 'Ihr fehlt der Host',
    'its host is not a name or an address': 'Ihr Host ist weder Name noch Adresse',
    'its host is not a valid name (IDNA)': 'Ihr Host ist kein gültiger Name (IDNA)',
    'it contains user information': 'Sie enthält einen Benutzer',
    'must be one line of at most %d bytes': 'Eine Zeile mit höchstens %1 Bytes.',
    'must be one of %s; %.100q is not one of them':
      'Erlaubt ist eines von: %1. %2 gehört nicht dazu.',
    'must be one of %s': 'Erlaubt ist eines von: %1.',
    'must be %s': 'Erlaubt: %1.',
    'from %s to %s USD': '%1 bis %2 USD',
    'from %d to %d': '%1 bis %2',
    'from %s to %s': '%1 bis %2',
    'must be a time from %d to %d, or null': 'Erlaubt sind Zeiten der Jahre %1 bis %2.',
    'must be after start_at': 'Das Ende muss nach dem Beginn liegen.',
    'must list ISO 3166 codes, such as US or US-CA; %q is not one':
      'Nötig sind Codes nach ISO 3166, wie US oder DE-BY. %1 ist keiner.',
    'must list ISO 3166 codes; for %q write %s':
      'Nötig sind Codes nach ISO 3166. Schreiben Sie für %1 bitte %2.',
    'must list BCP 47 languages, such as en or pt-BR; %q is not one':
      'Nötig sind Sprachen nach BCP 47, wie de oder pt-BR. %1 ist keine.',
    '%s needs billing_model cpm: with %s each %s has its stated price, so there is no bid to steer; set billing_model to cpm, or optimization_goal to manual':
      '%1 geht nur, wenn Sie für Impressionen zahlen. Bei %2 hat jede Conversion und jeder Klick einen festen Preis.',
    '%s needs billing_event impression: its bids are for impressions; set billing_event to impression, or optimization_goal to manual':
      '%1 bietet für Impressionen und zahlt deshalb auch für diese.',
    'must be above 0 if optimization_goal is target_cpa: it is the average cost of a conversion, in USD':
      'Nötig ist ein Betrag über 0: die mittleren Kosten einer Conversion in USD.',
    'must be above 0 if optimization_goal is target_roas: it is the value of conversions per USD spent':
      'Nötig ist eine Zahl über 0: der Wert der Conversions je ausgegebenem USD.',
    'of a credit-funded campaign cannot be raised; create another campaign':
      'Bei einer mit Credits bezahlten Kampagne lässt es sich nicht erhöhen. Legen Sie eine weitere an.',
    'must be approved or rejected': 'Erlaubt: freigeben oder ablehnen.',
    'must be at most %d bytes without control characters':
      'Höchstens %1 Bytes, ohne Steuerzeichen.',
    'the campaign is archived': 'Die Kampagne ist archiviert.',
    'the campaign is %s, but must be one of %v': 'Der Stand der Kampagne (%1) erlaubt das nicht.',
    'the campaign changed since you saw it; reload it':
      'Die Kampagne wurde inzwischen geändert. Laden Sie neu.',
    'the campaign belongs to another account': 'Die Kampagne gehört einem anderen Konto.',
    "the advertiser's account is suspended": 'Das Konto des Werbetreibenden ist gesperrt.',
    'there is no such campaign': 'Diese Kampagne gibt es nicht.',
    'email and password are required': 'E-Mail und Passwort sind nötig.',
    'the e-mail or the password is wrong': 'E-Mail oder Passwort stimmen nicht.',
    'email must be an e-mail address': 'Das ist keine E-Mail-Adresse.',
    'email must be in ASCII; write an international domain in its xn-- form':
      'Die E-Mail-Adresse darf nur ASCII enthalten. Schreiben Sie Domains mit Umlauten als xn--….',
    'email must have a domain that receives mail':
      'Die Domain der E-Mail-Adresse empfängt keine Post.',
    'password must have at least %d characters and at most %d bytes':
      'Das Passwort braucht mindestens %1 Zeichen und höchstens %2 Bytes.',
    'this password is too easy to guess; choose another, for example some words with spaces':
      'Dieses Passwort ist zu leicht zu erraten. Nehmen Sie ein anderes, zum Beispiel einige Wörter.',
    'the password must not contain the e-mail':
      'Das Passwort darf die E-Mail-Adresse nicht enthalten.',
    'registration is closed; ask the operator for an account':
      'Die Registrierung ist geschlossen. Bitten Sie den Betreiber um ein Konto.',
    'registration needs an invitation for this e-mail, which is missing, expired or for another e-mail':
      'Zur Registrierung gehört eine Einladung für diese E-Mail-Adresse. Sie fehlt, ist abgelaufen oder gilt für eine andere.',
    'too many logins and registrations at once; try again in a moment':
      'Zu viele Anmeldungen zugleich. Versuchen Sie es gleich noch einmal.',
    'current_password and new_password are required': 'Beide Passwörter sind nötig.',
    'this is not the password chosen at registration':
      'Das ist nicht das bei der Registrierung gewählte Passwort.',
    'this link was used, has expired or is invalid; request a new one':
      'Dieser Link wurde benutzt, ist abgelaufen oder ungültig. Fordern Sie einen neuen an.',
    'this server sends no mail; ask its operator for a new password':
      'Dieser Server verschickt keine Mails. Bitten Sie den Betreiber um ein neues Passwort.',
    'the code is wrong or already used; wait for the next one':
      'Der Code ist falsch oder schon benutzt. Warten Sie auf den nächsten.',
    'send code as well: from the app, or a recovery code':
      'Geben Sie auch den Code ein: aus der App oder zur Wiederherstellung.',
    'code is required: the six digits of the authenticator app':
      'Der Code fehlt: die sechs Ziffern der Authentifizierungs-App.',
    'administrators need a second factor; set it up under Sign-in and sessions':
      'Administratoren brauchen einen zweiten Faktor. Richten Sie ihn unter Anmeldung und Sitzungen ein.',
    'only administrators may do this': 'Das dürfen nur Administratoren.',
    'the account is suspended; sign in to the console to read the reason and to appeal':
      'Das Konto ist gesperrt. Melden Sie sich an, um den Grund zu lesen und Einspruch zu erheben.',
    'there are already %d keys; revoke one first':
      'Es gibt schon %1 Schlüssel. Widerrufen Sie zuerst einen.',
    'the key was already rotated or revoked; rotate its replacement':
      'Der Schlüssel wurde schon ersetzt oder widerrufen. Ersetzen Sie seinen Nachfolger.',
    'name must be at most %d characters without control characters':
      'Der Name darf höchstens %1 Zeichen haben, ohne Steuerzeichen.',
    '%s must be at most %d visible characters': 'Höchstens %2 sichtbare Zeichen.',
    '%s must be a name in letters of one script': 'Der Name muss in einer einzigen Schrift stehen.',
    "the account's name has changed meanwhile; reload it":
      'Der Name des Kontos wurde inzwischen geändert. Laden Sie neu.',
    'origins must list 1 to %d origins of the pages that use the key, like https://app.example.com':
      'Nennen Sie 1 bis %1 Adressen der Seiten mit diesem Schlüssel, wie https://app.example.com.',
    'origins has %.100q: write https://app.example.com in lower case and ASCII (xn--…), with a port if it is not 443 and without a path, or https://*.example.com for all hosts below a domain that you own; http is for localhost only':
      '%1 passt nicht. Schreiben Sie https://app.example.com: klein, in ASCII (xn--…), mit Port, wenn er nicht 443 ist, und ohne Pfad, oder https://*.example.com für alle Hosts einer eigenen Domain. http gilt nur für localhost.',
    'addresses must be at most %d addresses or networks like 192.0.2.7 or 2001:db8::/32':
      'Höchstens %1 Adressen oder Netzwerke wie 192.0.2.7 oder 2001:db8::/32.',
    'reason is required: at most %d characters, %s': 'Der Grund fehlt: höchstens %1 Zeichen.',
    '%s is required: at most %d characters, without control characters':
      'Der Text fehlt: höchstens %2 Zeichen, ohne Steuerzeichen.',
    'note is required: state your reason in at most %d characters':
      'Der Grund fehlt: höchstens %1 Zeichen.',
    'this is your own account; another administrator must decide':
      'Das ist Ihr eigenes Konto. Ein anderer Administrator muss entscheiden.',
    'this is the last administrator who can sign in; appoint another one first':
      'Das ist der letzte Administrator, der sich anmelden kann. Ernennen Sie zuerst einen weiteren.',
    'the account changed since you saw it; reload it':
      'Das Konto wurde inzwischen geändert. Laden Sie neu.',
    'amount is required': 'Der Betrag fehlt.',
    'amount must be from %s to %s USD in whole cents':
      'Der Betrag muss %1 bis %2 USD sein, in ganzen Cents.',
    'deposits are in USD, other currencies are not accepted': 'Eingezahlt wird nur in USD.',
    'no payment provider is configured here': 'Hier ist kein Zahlungsanbieter eingerichtet.',
    '%s is not configured here': '%1 ist hier nicht eingerichtet.',
    'not enough Credits': 'Die Credits reichen nicht.',
    'since must not be after until': 'Der Beginn darf nicht nach dem Ende liegen.',
    'the deposit belongs to another account': 'Die Einzahlung gehört einem anderen Konto.',
    'url %s': 'Diese Adresse nimmt der Server nicht an: %1.',
    'must be an absolute https URL (http only on localhost)': 'nötig ist eine ganze https-Adresse',
    'events[%d] must be one of %s': 'Erlaubte Ereignisse: %2.',
    'there are %d webhooks already: change or delete one of them':
      'Es gibt schon %1 Webhooks. Ändern oder löschen Sie einen.',
    'the delivery still waits for its next attempt':
      'Die Zustellung wartet noch auf ihren nächsten Versuch.',
    'the webhook is off: set enabled to true first':
      'Der Webhook ist aus. Schalten Sie ihn zuerst ein.',
    'description must have at most %d characters, without control characters':
      'Die Beschreibung darf höchstens %1 Zeichen haben, ohne Steuerzeichen.',
  },
  detailed: ['restricted_trade', 'trade_undeclared', 'never_words'],
  original: (message) => ` (Server: ${message})`,
};

export const fieldNames: Record<string, string> = {
  account: 'Konto',
  advertiser: 'Name des Werbetreibenden',
  account_id: 'Konto',
  addresses: 'Adressen',
  advertiser_id: 'Werbetreibender',
  amount: 'Betrag',
  before: 'Seite',
  campaign_id: 'Kampagne',
  click_id: 'Klick-ID',
  code: 'Code',
  context: 'Gespräch',
  creative: 'Texte der Anzeige zusammen',
  current_password: 'Jetziges Passwort',
  decision: 'Entscheidung',
  deal_ids: 'Deals',
  description: 'Beschreibung',
  developer_id: 'Publisher',
  email: 'E-Mail',
  events: 'Ereignisse',
  grace_seconds: 'Gültigkeit des bisherigen Schlüssels',
  invite: 'Einladung',
  kind: 'Art',
  mailed_code: 'Code aus der Mail',
  min_relevance: 'Geringste Relevanz',
  month: 'Monat',
  new_password: 'Neues Passwort',
  note: 'Notiz',
  notes: 'Notizen',
  origins: 'Adressen der Seiten',
  outcome: 'Ergebnis',
  password: 'Passwort',
  provider: 'Zahlungsanbieter',
  reason: 'Grund',
  return_url: 'Rückweg',
  role: 'Rolle',
  seat_id: 'Seat',
  since: 'Von',
  status: 'Status',
  text: 'Text',
  until: 'Bis',
  url: 'Adresse',
  exclude_contexts: 'Gespräche, in denen sie nie läuft',
  sensitive_contexts: 'Heikle Gespräche, in denen sie laufen darf',
  trades: 'Beschränkte Branchen',
  target_roas: 'Zielertrag der Ausgaben',
  targeting_mode: 'Ausrichtung auf Wörter',
  target_integration_methods: 'Wo sie erscheint',
};
