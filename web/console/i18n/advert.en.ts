/** What the screens of advertisers say beside those of market.en.ts. */
export const advert = {
  wizardLead: 'A few steps; what you type stays while you go back and forth, and nothing is saved before the last one.', stepList: 'Steps', stepOf: (n: number, of: number, name: string) => `Step ${n} of ${of}: ${name}`,
  stepNames: { goal: 'Goal', audience: 'Audience', creative: 'Creative', check: 'Policy check', budget: 'Budget and bid', forecast: 'Forecast', summary: 'Summary' }, stepNext: 'Next', stepBack: 'Back',
  checkHelp: 'What the policy says of your texts and links. What it finds does not stop you: a person looks at it before the ad runs.', changeCreative: 'Change the creative',
  format: 'Format', formatOpen: 'As the picture says', formats: { image: 'Picture', video: 'Video', native: 'Texts only' }, film: 'Video (link to an MP4)', poster: 'Picture before the video', skippable: 'Can be skipped after, in seconds',
  mendVideo: 'Type the address of the video; it begins with https://.', mendSkip: 'Type whole seconds from 0 to 3,600.',
  surfacesLabel: 'Places in an app',
  mendAmount: (low: string, high: string) => `Type an amount from ${low} to ${high}.`, mendLink: 'Type a whole address that begins with https://, such as https://shop.example/start.', mendHeadline: 'Write a headline: what people read first, up to 60 characters.',
  mendLanding: 'Type the address that a click leads to; it begins with https://.', mendCap: 'Type a whole number from 0 (any number) to 1,000.', mendEnd: 'Choose an end that is after the start.', mendPast: 'Choose an end that is still to come, or leave it empty.',
  surfacesShown: { card: 'Card in a page', embed: 'Embed in a chat', text: 'Text in a page', mcp: 'Card of an MCP app', vast: 'Video (VAST)' }, bannerOf: (size: string) => `Banner ${size}`, notHere: 'This ad is not shown there: banners need a picture, and players a video.', samplePicture: 'Pictures and the film are samples, since there are none that can be loaded.',
  conversionTypes: 'Types of the last 30 days', conversionType: 'Type', conversionValue: 'Value (USD)', lastReceived: 'Last received', noConversions: 'No conversion was counted in these days.',
  conversionsLead: 'What your ads sold, as your own server reports it.', conversionsCounted: 'Conversions, 30 days', conversionsUnverified: 'Not verified, 30 days', unverifiedHelp: 'Without a genuine click id and your key: never charged', conversionReport: 'Report a conversion', conversionHelp: 'Your landing page gets adnet_click in its address. Keep it with the visit, and send it from your server when somebody buys.',
  conversionKey: 'Make a conversion key', conversionTest: 'Try a click id', conversionTestHelp: 'Nothing is recorded or charged.', clickID: 'Click id (adnet_click)', conversionTry: 'Try it',
  conversionReasons: { ok: 'It would be accepted as verified. One a click is counted.', bad_click_id: 'This click id is none of this server, or too old. Send adnet_click as the landing page got it.', expired: 'The click is too long ago.', not_yours: 'The click belongs to a campaign of another account.' },
};
