export {
  type AnsweredRequest,
  type AnsweringMachine,
  FLOOD_BYTES,
  type Order,
  startAnsweringMachine,
} from './answering-machine.ts';
export { anyAnswers, endlessAnswers, floods } from './any-answers.ts';
export { type Damage, type HonestAnswer, type RawAnswer, whole } from './raw-answer.ts';
