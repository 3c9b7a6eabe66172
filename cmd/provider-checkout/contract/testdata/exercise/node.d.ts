// The parts of Node that the recipes use: its own types are not on the machines of the tests.
declare const process: { env: Record<string, string> };
declare const Buffer: { concat(parts: Uint8Array[]): Uint8Array };
declare module "node:timers/promises" {
  export function setTimeout(milliseconds: number): Promise<void>;
}
declare module "node:http" {
  interface Request extends AsyncIterable<Uint8Array> { headers: Record<string, string | undefined> }
  interface Response { writeHead(status: number): Response; end(): void }
  export function createServer(answer: (request: Request, response: Response) => void): { listen(port: number, host: string): void };
}
