import type { Schemas } from '../../shared/api';

/**
 * The messages of the API in another language than English. A code or rule without its text does
 * not compile: the types come from openapi.json, which tests compare with the codes and rules in Go.
 */
export interface ErrorTexts {
  /** By code, for messages that forms lacks. */
  codes: Record<NonNullable<Schemas['Error']['code']>, string>;
  /** Findings of the policy, by rule. */
  rules: Record<Schemas['Violation']['rule'], string>;
  /**
   * Messages by their format in Go; %1 is its first value. Formats that lack a subject follow the
   * label of a field.
   */
  forms: Record<string, string>;
  /** Rules whose message names what was found. */
  detailed: Schemas['Violation']['rule'][];
  /** Adds the server's own words. */
  original: (message: string) => string;
}

/** The labels of fields in the API that no form of campaigns has. */
export const fieldNames = {
  account: 'Account',
  advertiser: 'Name of the advertiser',
  account_id: 'Account',
  addresses: 'Addresses',
  advertiser_id: 'Advertiser',
  amount: 'Amount',
  before: 'Page',
  campaign_id: 'Campaign',
  click_id: 'Click id',
  code: 'Code',
  context: 'Conversation',
  creative: 'Texts of the ad together',
  current_password: 'Current password',
  decision: 'Decision',
  deal_ids: 'Deals',
  description: 'Description',
  developer_id: 'Publisher',
  email: 'E-mail',
  events: 'Events',
  grace_seconds: 'Validity of the former key',
  invite: 'Invitation',
  kind: 'Kind',
  mailed_code: 'Code from the mail',
  min_relevance: 'Lowest relevance',
  month: 'Month',
  new_password: 'New password',
  note: 'Note',
  notes: 'Notes',
  origins: 'Addresses of pages',
  outcome: 'Outcome',
  password: 'Password',
  provider: 'Payment provider',
  reason: 'Reason',
  return_url: 'Way back',
  role: 'Role',
  seat_id: 'Seat',
  since: 'From',
  status: 'Status',
  text: 'Text',
  until: 'Until',
  url: 'Address',
  exclude_contexts: 'Conversations in which it never runs',
  sensitive_contexts: 'Sensitive conversations in which it may run',
  trades: 'Restricted trades',
  target_roas: 'Target return on spend',
  targeting_mode: 'Targeting by words',
  target_integration_methods: 'Where it is shown',
} as Record<string, string>;
