import { join } from 'node:path';

/** The folder of the repository. */
export const repository = join(import.meta.dirname, '../..');
