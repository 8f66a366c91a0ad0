/** What the screens of campaigns, blocks and creatives say. */
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
  datesHelp: 'Dates are in UTC, to the minute. Leave one empty for none.',
  changeDates: 'Change the dates',
  resumeIt: 'Resume it',
  submitIt: 'Submit it',
  raiseBid: 'Raise the bid',
  widen: 'Widen the audience',
  breakdownsMore: {
    format: 'Format',
    host_app: 'App',
    integration_method: 'Method',
    publisher: 'Publisher',
    surface: 'Surface',
    region: 'Region',
    language: 'Language',
  },
  paidEvent: 'Paid for',
  paidEvents: { impression: 'Each impression', viewable: 'Each view: half of the ad for a second' },
  paidEventHelp:
    'Shown only where a view can be reported: in pages with adnet.js, and in hosts of ' +
    'MCP Apps. It competes with its bid times the share of impressions that are viewed: ' +
    'a half, until the network has learnt it.',
  paidBy: 'Paid with',
  paidCredits: (n: string) => `Credits (${n} to spend)`,
  paidCreditsHelp: 'The budget in all is taken from your Credits when the campaign is made.',
  least: 'Least relevance',
  leastLead: 'Show no ad that is less likely to answer a request than this.',
  leastLabel: 'Probability, from 0 to 1',
  leastHelp:
    'Empty leaves it to the network. Below the floor of the network it counts down to ' +
    'the lowest that the operator allows.',
  houseAds: 'Show my own campaigns where nothing else is sold',
  houseHelp:
    'House ads cost and earn nothing, whatever the floor. They are labelled as such, and ' +
    'obey targeting, dates, approval and your blocks.',
  leastSave: 'Save',
  leastSaved: 'Saved. It holds within two seconds.',
  aim: 'Goal',
  aims: {
    manual: 'Bid what I say',
    target_cpa: 'A conversion for a price',
    max_conversions: 'As many conversions as the budget buys',
  },
  targetCPA: 'A conversion may cost, in USD',
  aimHelp: 'With a goal the bids are made from conversions, and your bid is the most that is bid.',
  categories: 'Categories (IAB), e.g. IAB19',
  forecast: 'Forecast',
  forecastHelp:
    'From the auctions of the last 28 days. What people say in them is not kept, so ' +
    'words do not narrow it.',
  requestsDay: 'Requests a day that fit',
  priceUsual: 'Usual price of 1,000 impressions',
  priceText: (low: string, mid: string, high: string) => `${low} to ${high}, half below ${mid}`,
  wonShare: 'Your bid would win at most',
  reachDay: 'Impressions a day at most',
  spendDay: 'Spend a day at most',
  forecastFew: 'Too few requests fit for a forecast.',
  forecastHidden: 'Too few advertisers compete here: a price would tell what one of them bids.',
  blocks: 'Blocks',
  blocksLead: 'What your apps do not show. Auctions obey within two seconds.',
  blocksHelp: 'One entry a line, up to 200.',
  blockAdvertisers: 'Advertisers (their ids)',
  blockDomains: 'Domains of landing pages, with all below them',
  blockCategories: 'Categories (IAB), such as IAB7',
  blockWords: 'Words and phrases',
  blocksSave: 'Save blocks',
  blocksSaved: 'Saved. Auctions obey now.',
  creatives: 'Creatives',
  creativesLead: 'What your campaigns show, the newest first.',
  noCreatives: 'No creatives yet',
  openCampaign: 'Open the campaign',
  nameWaits: 'An administrator looks at the name before your ads say it.',
  nameApproved: 'Your ads say the name as it was approved.',
  nameVerified: 'Your ads say the name, and that it was verified.',
  profile: 'Profile',
  profileLead: 'Who you are to others, and what is held about you.',
  profileHelp:
    'Receipts of your ads show the company, else your name, and say whether it was ' +
    'verified. Ads say it once an administrator has approved it.',
  displayName: 'Your name',
  company: 'Company',
  profileSaved: 'Saved.',
  myData: 'My data',
  myDataHelp: 'Profile, keys, campaigns, ledger and audit log, as JSON.',
  downloadData: 'Download my data',
  deleteAccount: 'Delete my account',
  deleteLoses: (usd: string, credits: string) =>
    `I give up ${usd} and ${credits} Credits: after the deletion they cannot be spent or ` +
    `paid back here.`,
  deleteHelp:
    'Keys stop, campaigns end, your e-mail and names are removed. The books keep their ' +
    'rows, under an id that names nobody. A balance and Credits that are left are lost, ' +
    'also Credits that are pending or held.',
  deleteCode: 'Code of your second factor, if you have one',
  deleteSure: 'Delete your account for ever?',
  deleted: (left: string) => `Your account is deleted. Balance that was left: ${left}.`,
  auctions: 'Auctions',
  auctionsLead:
    'Why an auction went as it did: you see what is yours, the price that won, and how ' +
    'many others there were.',
  auctionsHelp:
    'The id of an auction stands in the answer of an ad request (auction_id), or in the ' +
    'header X-Adnet-Auction-Id of a bid.',
  auctionId: 'Id of the auction',
  explain: 'Explain',
  outcome: 'Outcome',
  filled: 'An ad was shown',
  unfilled: 'No ad',
  winnerPrice: 'Price that won, a unit',
  yourCandidates: 'Your candidates, and the winner',
  allCandidates: 'All candidates',
  noCandidates: 'None that you may see.',
  otherCandidates: 'Others',
  moreCandidates: 'There may have been others behind these.',
  theRequest: 'The request',
  floor: 'Least price of 1,000',
  notRecorded: 'Its record is not there yet, or not kept: this is what its signed id says.',
  events: 'Events',
  event: 'Event',
  verdict: 'Verdict',
  results: {
    won: 'won',
    outbid: 'outbid',
    below_floor: 'below the floor',
    budget: 'no budget left',
    paced: 'paced',
    frequency_capped: 'seen often enough',
    blocked: 'blocked by the publisher',
    no_match: 'nothing matched',
    irrelevant: 'nothing was relevant',
    no_campaigns: 'no campaigns',
    stale: 'the node was not sure',
  } as Record<string, string>,
  /**
   * What the API says of a cause is in English; other languages say the same in words of their own.
   */
  causes: {} as Record<string, string>,
};
