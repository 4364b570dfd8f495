import { createPageScript, formsPart } from '@postern/pages';

/** The script of the console. Every page works without it. */
export const consoleScript = createPageScript('console', [formsPart, new URL('browser/live.js', import.meta.url)]);
