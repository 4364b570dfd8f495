import { runStart } from './run-process.ts';

/** The process of the gateway: `main.ts [configuration]`. */
await runStart(process.argv[2]);
