// Every question is a turn of the conversation: the ad beside its answer asks again by itself, as
// often as the network's pacing allows, and takes no space without one.
const talk = document.querySelector('#talk');
const ad = document.querySelector('adnet-ad');
ad.setAttribute('session-id', crypto.randomUUID()); // of this page view; nothing is kept
let turn = 0;

document.querySelector('#ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const question = event.target.elements.question;
  say('person', question.value);
  say('assistant', answer(question.value));
  ad.setAttribute('context', question.value);
  ad.setAttribute('turn', ++turn);
  question.value = '';
});

function say(who, text) {
  const line = document.createElement('p');
  line.className = who;
  line.textContent = text;
  talk.append(line);
}

// Your model answers here. What it is asked never holds the ad.
function answer(question) {
  return `You asked about “${question}”.`;
}
