/** Numbers, copied before the call returns: null or undefined is the public default of the campaign. */
export type Numbers = ArrayLike<number> | null | undefined;
/** Rows of coordinates, or all coordinates in a row (see `dim`). */
export type Points = ArrayLike<ArrayLike<number>> | Numbers;
/** 32 hexadecimal digits, or 16 bytes. */
export type Campaign = string | Uint8Array;

/** The settings of dpot/settings.h, by name; those that are null or undefined are left out. */
export interface Settings {
  folder: string;
  pin: string | Uint8Array;
  server_url?: string;
  ca_file?: string;
  /** The group of this device in campaigns, by their 32 hexadecimal digits. */
  groups?: Record<string, number>;
  keystore_key?: string | Uint8Array;
  accountant?: 'basic' | 'zcdp';
  [name: string]: unknown;
}

/** What a submit did. Each but LOST is a report that was sent or will be. */
export declare const Outcome: Readonly<{
  /** Made, charged and stored. */
  REPORTED: 1;
  /** Made under the charge of a submit that a crash cut off. */
  RESUMED: 2;
  /** This round's report exists and waits to be sent. */
  PENDING: 3;
  /** This round's report has had its final answer, or was dropped. */
  DONE: 4;
  /** This round's report was charged, and its file was damaged or lost. */
  LOST: 5;
}>;

/** A call that libdpot refused, or that failed. The message is the code and one sentence, which never
 * holds data. client/doc/status.md says what to do. */
export declare class DpotError extends Error {
  /** Such as 'DPOT_ERR_BUDGET'. */
  readonly code: string;
  /** Such as -300. */
  readonly status: number;
  /** 'temporary': the same call may succeed later; 'fatal': the client can only be closed. */
  readonly kind: 'call' | 'temporary' | 'data' | 'privacy' | 'fatal';
  /** What a failed pump did; null otherwise. */
  readonly result: Record<string, number | null> | null;
}

/** A folder of libdpot, opened. Calls are made one after the other; after close() they fail. */
export declare class Client {
  static open(settings: Settings): Promise<Client>;
  /** Closes the folder after the calls before; reports that wait stay in it. Again: nothing. */
  close(): Promise<void>;

  /** Fetches and stores the newest revision. Call it again for a newer one. */
  enroll(campaign: Campaign): Promise<void>;
  /** The same from the bytes of a signed campaign; returns its id. */
  importCampaign(data: Uint8Array): Promise<string>;
  /** From now on accepts only campaigns and seal keys with these BLAKE2b-256 hashes; []: all again. */
  expect(digests: (string | Uint8Array)[]): Promise<void>;
  /** struct dpot_campaign_info, and spent_epsilon, spent_delta, spent_rho. */
  campaign(campaign: Campaign): Promise<Record<string, number | boolean | null>>;

  /** One report for each round. Returns an Outcome. `dim`: of points that are not in rows, default 1. */
  submitPoints(campaign: Campaign, points: Points, more?: {weights?: Numbers; dim?: number}): Promise<number>;
  /** Weights of all cells of the domain. */
  submitHistogram(campaign: Campaign, histogram: Points): Promise<number>;
  /** For campaigns of laplace, gaussian and spheres. */
  submitVector(campaign: Campaign, vector: Numbers): Promise<number>;

  /** Sends what is due: struct dpot_pump_result. Call it again at next_due_ms. */
  pump(milliseconds?: number): Promise<Record<string, number | null>>;
  /** What was spent, what became of every report: struct dpot_client_status. */
  status(): Promise<Record<string, number | boolean | string | null>>;
  /** Sentences for the owner of the device. */
  statement(): Promise<string>;

  /** The owner withdraws: waiting reports are wiped, submits are refused until grant(). */
  withdraw(): Promise<void>;
  /** The owner consents again. */
  grant(): Promise<void>;
}

/** The version of libdpot, such as '0.1.0'. */
export declare function version(): string;
/** Withdraws consent for a folder that cannot be opened; the next opening wipes what waits. */
export declare function withdraw(folder: string): Promise<void>;
