/** For tests that start programs: reserved ports, and programs that end with the test. */
export { endingWithParent } from './end-with-parent.ts';
export { freePort, reservePort } from './reserved-port.ts';
export { startAll } from './start-all.ts';
