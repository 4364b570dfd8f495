export { isShortRun } from '@postern/testkit/run-size';
