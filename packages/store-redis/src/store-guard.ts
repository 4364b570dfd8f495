/** Keeps commands from a Redis that has lost data, or that may have. Set by the loss watch, obeyed by the link. */
export interface StoreGuard {
  /** Commands wait for it: whether this Redis still has its data is being looked at. Never rejects. */
  held: Promise<void> | undefined;
  /** Commands are refused. */
  isLost: boolean;
}
