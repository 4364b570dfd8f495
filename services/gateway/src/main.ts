import { runProcess } from './run-process.ts';

/** The process of the gateway: `main.ts [configuration]`. */
await runProcess({
  configPath: process.argv[2] ?? process.env['POSTERN_CONFIG'] ?? 'postern.config.yaml',
  logLevel: process.env['LOG_LEVEL'] ?? 'info',
});
