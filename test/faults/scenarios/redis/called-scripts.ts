import { type CommandName, commandNames } from '@postern/store-redis';

/** Scripts that store calls send. A timer sends `inspectShard` and retries after a lost response, so it is not listed. */
export type CalledScript = Exclude<CommandName, 'inspectShard'>;

export const calledScripts = commandNames.filter((name): name is CalledScript => name !== 'inspectShard');
