/** To which deployment the data of a shard belongs, and since when. Stored as `<deployment> <epoch>`. */
export interface ShardEpoch {
  readonly deployment: string;
  /** When the deployment began, or when an operator accepted that the shard has lost its data. In ms. */
  readonly epoch: number;
}

/** Of a deployment id; the configuration checks with it too. */
export const DEPLOYMENT_ID = /^dp_[A-Za-z0-9_-]{8,64}$/;

/** Behind the epoch of the first shard until all others have theirs: a gateway that died meanwhile is carried on from there. */
const FOUNDING = ' founding';

export const shardEpochText = ({ deployment, epoch }: ShardEpoch) => `${deployment} ${epoch}`;
export const foundingText = (of: ShardEpoch) => `${shardEpochText(of)}${FOUNDING}`;

/** A text that this release cannot read belongs to an unknown deployment. */
export function parseShardEpoch(text: string): ShardEpoch & { readonly isFounding: boolean } {
  const [, deployment = 'unknown', epoch = '0'] = /^(dp_\S+) (\d+)\b/.exec(text) ?? [];
  return { deployment, epoch: Number(epoch), isFounding: text.endsWith(FOUNDING) };
}
