import { type CommandName, commandNames } from '@postern/store-redis';

/** Scripts that a call of the stores sends. `inspectShard` is sent by a timer, which looks again when an answer is lost. */
export type CalledScript = Exclude<CommandName, 'inspectShard'>;

export const calledScripts = commandNames.filter((name): name is CalledScript => name !== 'inspectShard');
