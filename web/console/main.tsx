import { render } from 'preact';
import { App } from './app';
import { firstLang, loadInfo } from './state';
import { keepFocus } from './ui/focus';
import './console.css';

await Promise.all([firstLang(), loadInfo()]);
const root = document.getElementById('app')!;
root.replaceChildren();
render(<App />, root);
keepFocus();
