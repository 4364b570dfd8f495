export { createFakeClock } from './fake-clock.ts';
