/** The texts of the screens of campaigns, blocks and creatives. */
export const market = {
  hour: 'Hour',
  byHour: 'By hour',
  chartHours: (name: string) =>
    `Chart: ${name} by hour (UTC). The arrow keys move through the hours; the table has ` +
    `all values.`,
  step: 'Step',
  steps: { day: 'Days', hour: 'Hours, 7 days' },
  before: (value: string) => `Before: ${value}`,
  change: (part: string, value: string) => `${part} against ${value} before`,
  asCSV: 'As CSV',
  copyCampaign: 'Copy',
  starts: 'Starts',
  ends: 'Ends',
  atOnce: 'at once',
  never: 'when the budget is spent',
  datesHelp: 'Dates are in UTC, to the minute. An empty field means no limit.',
  changeDates: 'Change the dates',
  resumeIt: 'Resume it',
  submitIt: 'Submit it',
  raiseBid: 'Raise the bid',
  widen: 'Widen the audience',
  answers: 'Answers',
  breakdownsMore: {
    format: 'Format',
    host_app: 'App',
    integration_method: 'Method',
    publisher: 'Publisher',
    surface: 'Surface',
    region: 'Region',
    language: 'Language',
  },
  paidEvent: 'Billed event',
  paidEvents: { impression: 'Each impression', viewable: 'Each view: half of the ad for a second' },
  paidEventHelp:
    'Shown only where views can be reported: in pages with adnet.js and in hosts of MCP ' +
    'Apps. It competes with its bid times the viewable share of impressions, which is ' +
    'one half until the network has learnt it.',
  paidBy: 'Paid with',
  paidCredits: (n: string) => `Credits (${n} available)`,
  paidCreditsHelp: 'The total budget is taken from your Credits when the campaign is created.',
  least: 'Minimum relevance',
  leastLead: 'Show no ad with a lower probability of answering the request.',
  leastLabel: 'Probability, from 0 to 1',
  leastHelp:
    'An empty field uses the network’s floor. A lower value applies down to the minimum ' +
    'set by the operator.',
  houseAds: 'Show my own campaigns when nothing else is sold',
  houseHelp:
    'House ads cost and earn nothing, and the floor price does not apply. They are ' +
    'labelled, and respect targeting, dates, approval and your blocks.',
  leastSave: 'Save',
  leastSaved: 'Saved. It applies within two seconds.',
  aim: 'Goal',
  aims: {
    manual: 'Manual bids',
    target_cpa: 'Target cost per conversion',
    target_roas: 'Target return on spend',
    max_conversions: 'As many conversions as the budget allows',
  },
  targetCPA: 'Target cost per conversion in USD',
  aimHelp: 'With a goal, bids are derived from conversions, and your bid is the maximum.',
  categories: 'Categories (IAB), e.g. IAB19',
  forecast: 'Forecast',
  forecastHelp:
    'Based on the auctions of the last 28 days. Conversation texts are not stored, so ' +
    'words do not narrow the forecast.',
  requestsDay: 'Matching requests per day',
  priceUsual: 'Usual price per 1,000 impressions',
  priceText: (low: string, mid: string, high: string) => `${low} to ${high}, half below ${mid}`,
  wonShare: 'Maximum share won by your bid',
  reachDay: 'Maximum impressions per day',
  spendDay: 'Maximum spend per day',
  forecastFew: 'Too few matching requests for a forecast.',
  forecastHidden: 'Too few advertisers compete here: a price would reveal one advertiser’s bid.',
  blocks: 'Blocks',
  blocksLead: 'What your apps do not show. Changes apply within two seconds.',
  blocksHelp: 'One entry per line, up to 200.',
  blockAdvertisers: 'Advertisers (their ids)',
  blockDomains: 'Domains of landing pages, including subdomains',
  blockCategories: 'Categories (IAB), such as IAB7',
  blockWords: 'Words and phrases',
  blocksSave: 'Save blocks',
  blocksSaved: 'Saved. The blocks now apply.',
  creatives: 'Creatives',
  creativesLead: 'The creatives of your campaigns, newest first.',
  noCreatives: 'No creatives yet',
  openCampaign: 'Open the campaign',
  nameWaits: 'An administrator reviews the name before your ads show it.',
  nameApproved: 'Your ads show the approved name.',
  nameVerified: 'Your ads show the name as verified.',
  profile: 'Profile',
  profileLead: 'How others see you, and the data stored about you.',
  profileHelp:
    'Receipts of your ads show the company or else your name, and whether it is ' +
    'verified. Ads show it once an administrator has approved it.',
  displayName: 'Your name',
  company: 'Company',
  profileSaved: 'Saved.',
  myData: 'My data',
  myDataHelp: 'Profile, keys, campaigns, ledger and audit log, as JSON.',
  downloadData: 'Download my data',
  deleteAccount: 'Delete my account',
  deleteLoses: (usd: string, credits: string) =>
    `I give up ${usd} and ${credits} Credits: after the deletion they cannot be spent or ` +
    `refunded here.`,
  deleteHelp:
    'Keys stop working, campaigns end, and your e-mail and names are removed. The ' +
    'ledger keeps its rows under an anonymous id. Any remaining balance and Credits are ' +
    'lost, including pending and held Credits.',
  deleteCode: 'Code of your second factor, if you have one',
  deleteSure: 'Delete your account permanently?',
  deleted: (left: string) => `Your account is deleted. Remaining balance: ${left}.`,
  auctions: 'Auctions',
  auctionsLead:
    'Why an auction ended as it did. You see your own candidates, the winning price, ' +
    'and the number of others.',
  auctionsHelp:
    'The id of an auction is in the response to an ad request (auction_id), or in the ' +
    'header X-Adnet-Auction-Id of a bid.',
  auctionId: 'Id of the auction',
  explain: 'Explain',
  outcome: 'Outcome',
  filled: 'An ad was shown',
  unfilled: 'No ad',
  winnerPrice: 'Winning price per unit',
  yourCandidates: 'Your candidates and the winner',
  allCandidates: 'All candidates',
  noCandidates: 'None visible to you.',
  otherCandidates: 'Others',
  moreCandidates: 'There may be more behind these.',
  theRequest: 'The request',
  floor: 'Floor per 1,000',
  notRecorded:
    'The auction is not recorded yet or no longer stored. This is the content of its signed id.',
  events: 'Events',
  event: 'Event',
  verdict: 'Verdict',
  results: {
    won: 'won',
    outbid: 'outbid',
    below_floor: 'below the floor',
    budget: 'no budget left',
    paced: 'paced',
    unseen: 'held by ads that were not shown',
    unpaid: 'not charged for earlier ads',
    frequency_capped: 'frequency capped',
    blocked: 'blocked by the publisher',
    no_match: 'nothing matched',
    irrelevant: 'nothing was relevant',
    no_campaigns: 'no campaigns',
    stale: 'the node had stale data',
  } as Record<string, string>,
  /**
   * The API describes causes in English. Other languages have their own texts.
   */
  causes: {} as Record<string, string>,
};
