export {
  type AnsweredRequest,
  type AnsweringMachine,
  FLOOD_BYTES,
  startAnsweringMachine,
} from './answering-machine.ts';
export { anyAnswers, endlessAnswers, floods } from './any-answers.ts';
export { type Damage, type HonestAnswer, whole } from './raw-answer.ts';
