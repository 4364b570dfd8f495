export { type AnsweredRequest, type AnsweringMachine, type Order, startAnsweringMachine } from './answering-machine.ts';
export { anyAnswers, endlessAnswers } from './any-answers.ts';
export { type Damage, type HonestAnswer, type RawAnswer, whole } from './raw-answer.ts';
