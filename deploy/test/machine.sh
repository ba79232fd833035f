#!/usr/bin/env bash
# Runs on the new system, as deploy/test/install.sh describes.
set -euo pipefail
export HOME=/root LC_ALL=C.UTF-8
cd /srv
step() { echo "$SECONDS s: $*"; }
# Runs at the end. Unlike a trap for ERR, it sees what fails in a function.
ended() {
  [ "$1" = 0 ] && return
  echo "failed with $1: $2"
  journalctl --no-pager --unit uimgate --lines 30 --output cat || true
  tail -n 5 /srv/*.log /srv/answer 2> /dev/null
}
trap 'ended $? "$BASH_COMMAND"' EXIT
# Succeeds if a command fails.
fails() { ! "$@" > /dev/null 2>&1; }
# Runs a command until it succeeds, for 30 seconds at most.
eventually() {
  for _ in $(seq 150); do "$@" > /dev/null 2>&1 && return; sleep 0.2; done
  "$@"
}

step "a CA, a collector and an API"
cat > pebble.json <<'JSON'
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "certs/localhost/cert.pem",
  "privateKey": "certs/localhost/key.pem", "httpPort": 80, "tlsPort": 443}}
JSON
PEBBLE_VA_NOSLEEP=1 ./pebble -config pebble.json > pebble.log 2>&1 &
./sink > spans 2> sink.log &
./shop > shop.log 2>&1 &
eventually curl -sf --cacert certs/pebble.minica.pem https://localhost:15000/roots/0
curl -sf --cacert certs/pebble.minica.pem https://localhost:15000/roots/0 > ca.pem
cat > openapi.yaml <<'YAML'
openapi: 3.0.3
info: {title: A Shop, version: 1.0.0}
servers: [{url: http://127.0.0.1:9000}]
paths:
  /products/{id}:
    get:
      operationId: getProduct
      summary: One product.
      parameters: [{name: id, in: path, required: true, schema: {type: string, maxLength: 40}}]
      responses:
        '200': {description: The product, content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}
YAML

step "the commands of the README"
while read -r line; do
  case $line in
  "sudo apt install"*) # without a terminal apt does not ask
    [ ! -e /etc/uimgate ]
    $line -y
    [ "$(systemctl is-active uimgate)" = inactive ] # nothing starts before there is a configuration
    ;;
  "sudo uimgate init"*)
    # The answers are: the domain, the URL of the API, its document, an email address, the CA's agreement, and not to start yet.
    printf '%s\n' shop.example http://127.0.0.1:9000 /srv/openapi.yaml ops@shop.example y n |
      script --quiet --return --command "$line" init.log > /dev/null
    # This CA takes the place of Let's Encrypt.
    cp certs/pebble.minica.pem /etc/uimgate/ca.pem
    sed -i 's|agree: true|agree: true, directory: "https://localhost:14000/dir", roots: ca.pem|' /etc/uimgate/uimgate.yaml
    echo 'telemetry: {otlp: {endpoint: "http://127.0.0.1:4318"}}' >> /etc/uimgate/uimgate.yaml
    ;;
  *) $line ;;
  esac
done < readme.sh
[ "$(systemctl is-active uimgate)" = active ]

step "TLS"
export SSL_CERT_FILE=/srv/ca.pem CURL_CA_BUNDLE=/srv/ca.pem
eventually curl -sf https://shop.example/agents.json
curl -sf https://shop.example/agents.json | jq -e '.intents[0].intent_uid == "shop.example:get-product:v1"'

step "a call with a PAT" # --insecure allows the address: the domain resolves to 127.0.0.1 here
uimgate agent keygen
uimgate agent agree https://shop.example --yes --insecure > agree.log 2>&1
pat=$(jq -r '.["uim-pat"] // empty' ~/.local/state/uimgate/agent/*.json | head -1)
trace=4bf92f3577b34da6a3ce929d0e0e4736
[ -n "$pat" ]
# Keeps the response in the file answer, which ended prints.
call() {
  echo "no response" > answer
  curl -sS --fail-with-body --output answer https://shop.example/api/intents/execute -H "Authorization: Bearer $pat" \
    -H "traceparent: 00-$trace-00f067aa0ba902b7-01" \
    --json '{"intent_uid": "shop.example:get-product:v1", "parameters": {"id": "desk-lamp"}}'
}
call
jq -e '.. | .name? == "Desk lamp Lumen"' answer

step "its trace"
traced() { jq -es --arg trace $trace 'map(select(.trace == $trace).name) | contains(["settle"])' spans; }
eventually traced
fails grep -e desk-lamp -e "$pat" spans # no parameters and no tokens

step "alerts"
promtool=prometheus/usr/bin/promtool
$promtool check rules rules.yaml alerts.yaml
curl -sf --insecure https://127.0.0.1:8081/metrics > metrics # the certificate has the name of the domain
grep -q '^uimgate_' metrics
$promtool check metrics < metrics > metrics.log 2>&1 || [ $? = 3 ] # 3 means remarks on names

step "the restrictions of the unit"
systemd-analyze security --no-pager --threshold=15 uimgate > security.log || { tail -5 security.log; false; }
pid=$(systemctl show --property MainPID --value uimgate)
grep -E '^NoNewPrivs:\s1$' "/proc/$pid/status"
grep -E '^Seccomp:\s2$' "/proc/$pid/status"
grep -E '^CapEff:\s0+400$' "/proc/$pid/status" # CAP_NET_BIND_SERVICE alone
[ "$(stat --format %u "/proc/$pid")" -ge 61184 ] # a user of systemd's range for DynamicUser

step "a reload, and a restart after a crash"
systemctl reload uimgate
cp /etc/uimgate/uimgate.yaml kept.yaml
echo "servces: []" >> /etc/uimgate/uimgate.yaml
fails systemctl reload uimgate # the gateway keeps the configuration that it has
call
cp kept.yaml /etc/uimgate/uimgate.yaml
systemctl reload uimgate
restarts() { [ "$(systemctl show --property NRestarts --value uimgate)" = "$1" ] && [ "$(systemctl is-active uimgate)" = active ]; }
restarts 0
kill -KILL "$pid"
eventually restarts 1
call

step "an upgrade while an agent calls, with the sockets of systemd"
echo "# the operator's own line" >> /etc/uimgate/uimgate.yaml
sha256sum /etc/uimgate/* > configuration
systemctl stop uimgate
systemctl enable --now uimgate.socket
call # starts the service
(until [ -e enough ]; do call && echo . >> calls || cat answer >> refused.log; done) &
sudo apt install -y ./next/uimgate_0.1.1_*.deb
uimgate version | grep '^uimgate v0.1.1 '
[ "$(systemctl is-active uimgate)" = active ]
call
touch enough
wait $!
[ "$(wc -l < calls)" -gt 5 ]
[ ! -e refused.log ]

step "a removal"
sudo apt purge -y uimgate
[ "$(systemctl is-active uimgate)" != active ]
[ ! -e /usr/bin/uimgate ]
[ -e /var/lib/private/uimgate/state.db ]
sha256sum --check --quiet configuration

step "an installation beside a configuration"
sudo apt install -y ./next/uimgate_0.1.1_*.deb
sha256sum --check --quiet configuration
[ "$(systemctl is-active uimgate)" != active ]
sudo systemctl start uimgate
call
step "end"
