export { Appeals as default } from './decisions';
