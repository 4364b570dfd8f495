/** A fault for one line that security or correctness depends on. A run shows that a test finds it. */
export type Fault = {
  /** The wrong behaviour that the fault causes. Unique in the list. */
  readonly name: string;
  /** The acceptance id, the section of a specification, or the rule that the fault breaks. */
  readonly breaks: string;
  /** Relative to the repository, like all paths here. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly original: string;
  readonly replacement: string;
  /** Test files that must find the fault: the narrowest ones, because starting them takes most of the time. */
  readonly foundBy: readonly string[];
  /** Runs only the tests whose name contains this text. For files that are slow otherwise. */
  readonly only?: string;
};
