#!/usr/bin/env bash
# gpu-run.sh: runs the checks and the tables of the Vulkan back end on this machine, from
# what gpu-pack.sh packed, and writes a report. Go is not needed.
#
#   --out DIR        where the report and the JSON files go (default gpu-report)
#   --device D       Vulkan device, by index or part of its name (default: the best)
#   --quick          small sizes: minutes become seconds; for trying the script
#   --soak SECONDS   length of each soak (default 120; 5 with --quick)
#   --only STEPS     some of: conformance,soak,link,run,throughput (default: all)
#
# LD_LIBRARY_PATH and VK_DRIVER_FILES (or VK_ICD_FILENAMES) are honoured. Exit codes: 0 all
# is well, 1 a step failed (the report says which), 2 usage, 3 no usable Vulkan device.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=gpu-report device='' quick=0 soak='' only=conformance,soak,link,run,throughput
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
fail() {
	echo "gpu-run.sh: $2" >&2
	exit "$1"
}
while (($#)); do
	case $1 in
	--out | --device | --soak | --only)
		(($# > 1)) || fail 2 "$1 wants a value; see --help"
		case $1 in
		--out) out=$2 ;;
		--device) device=$2 ;;
		--soak) soak=$2 ;;
		--only) only=$2 ;;
		esac
		shift
		;;
	--quick) quick=1 ;;
	-h | --help)
		usage
		exit 0
		;;
	*) fail 2 "unknown argument $1; see --help" ;;
	esac
	shift
done
for step in ${only//,/ }; do
	case $step in
	conformance | soak | link | run | throughput) ;;
	*) fail 2 "--only: unknown step $step, want some of conformance,soak,link,run,throughput" ;;
	esac
done
for binary in batchbench engine.test vk.test clearance.test; do
	[ -x "$here/$binary" ] ||
		fail 2 "$binary is not beside this script; unpack the archive of gpu-pack.sh and run the script in it"
done
mkdir -p "$out" || fail 2 "cannot create $out; choose another folder with --out"
out=$(cd "$out" && pwd)
report=$out/report.md

# A driver that a container brings may lie where the loader does not look.
drivers() { compgen -G '/usr/share/vulkan/icd.d/*.json' || compgen -G '/etc/vulkan/icd.d/*.json'; }
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && ! drivers >/dev/null; then
	for d in /usr/local/nvidia/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /opt/amdgpu/share/vulkan/icd.d; do
		if files=$(compgen -G "$d/*.json"); then
			VK_DRIVER_FILES=$(tr '\n' ':' <<<"$files")
			export VK_DRIVER_FILES=${VK_DRIVER_FILES%:} VK_ICD_FILENAMES=${VK_DRIVER_FILES%:}
			break
		fi
	done
fi
[ -z "$device" ] || export CLEARANCE_DEVICE=$device

# Is there a device? With the system's loader, or else with the one in the archive.
usable() {
	"$here/batchbench" devices --json "$out/devices.json" >"$out/devices.txt" 2>&1 &&
		grep -q '^vulkan .* yes ' "$out/devices.txt"
}
loader="the system's"
if ! usable && [ -e "$here/vulkan/libvulkan.so.1" ]; then
	export LD_LIBRARY_PATH=$here/vulkan${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	loader="the one in the archive"
	usable
fi
if ! grep -q '^vulkan .* yes ' "$out/devices.txt"; then
	cat "$out/devices.txt" >&2
	fail 3 "no usable Vulkan device. The table above says why. What may help:
  the loader:  install libvulkan1 (Debian, Ubuntu) or vulkan-loader (Fedora), or set LD_LIBRARY_PATH to the
               folder of libvulkan.so.1
  the driver:  that of the GPU's maker; set VK_DRIVER_FILES to its icd .json if it lies in an unusual place
  no GPU:      mesa-vulkan-drivers brings lavapipe, which runs on the CPU"
fi
if ! probe=$("$here/batchbench" throughput --backend vulkan --beside none --sizes 1 --set boxes --time 1ms 2>&1); then
	fail 3 "the Vulkan device does not work: $probe"
fi
layer=VkLayer_khronos_validation.json
if [ -e "$here/vulkan/$layer" ] && ! [ -e "/usr/share/vulkan/explicit_layer.d/$layer" ]; then
	export VK_LAYER_PATH=$here/vulkan${VK_LAYER_PATH:+:$VK_LAYER_PATH}
fi

if ((quick)); then
	soak=${soak:-5} pairs=8000 rounds=1 sizes=0,1,1e3,1e4 sets=boxes,mixed
	budget=50ms short=-test.short benchtime=3x stride=8
	conformance='^(TestConformance|TestBitIdentical|TestHeld|TestGarbage)$'
else
	soak=${soak:-120} pairs=1000000 rounds=5 sizes=0,1,1e3,1e4,1e5,1e6,1e7 budget=1s short= benchtime=1s stride=1
	sets=ellipsoids,boxes,capsule-cylinder-cone,hull8,hull32,hull128,hull512,mixed conformance=.
fi

derived='^Test(Derivatives|DegenerateDerivatives|DerivativeQueries|Products|BodyGradients|PartGradients.*)$'
chosen=$derived
((quick)) && chosen='^TestPartGradients$'

failed=()
wanted() { [[ ,$only, == *,$1,* ]]; }
# step TITLE FILE COMMAND...: runs a command, keeps what it says, and adds it to the report.
# It fails, too, where the output lacks a line that matches $expect: a test that did not run
# has not passed.
step() {
	local title=$1 file=$out/$2 start=$SECONDS rc
	shift 2
	echo "gpu-run.sh: $title"
	(cd "$out" && "$@") >"$file" 2>&1
	rc=$?
	if ((rc == 0)) && ! grep -qE "$expect" "$file"; then
		echo "gpu-run.sh: nothing here matches '$expect'" >>"$file"
		rc=1
	fi
	local word=passed
	if ((rc)); then
		word="FAILED (exit code $rc)"
		failed+=("$title")
	fi
	{
		printf '\n## %s\n\n%s, %d s. `%s`\n\n```\n' "$title" "$word" $((SECONDS - start)) "$(basename "$1") ${*:2}"
		if ((rc)); then
			grep -E '^ *--- FAIL' "$file" | head -n 20
			tail -n 40 "$file"
		else # of tests the names, of all else what it says
			grep -vE '^(=== |  +--- (PASS|SKIP)|goos:|goarch:)' "$file" | tail -n 80
		fi
		printf '```\n'
	} >>"$report"
	echo "gpu-run.sh: $title: $word"
}

{
	printf '# Clearance on Vulkan\n\n%s; loader: %s; %s\n\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$loader" "$(uname -srm)"
	printf '```\n'
	cat "$here/BUILD" 2>/dev/null
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
	echo "processors: $(getconf _NPROCESSORS_ONLN); $model"
	cat "$out/devices.txt"
	printf '```\n'
} >"$report"

export REQUIRE_VULKAN=1
if wanted conformance; then
	expect='^--- PASS: TestConformance'
	step 'Conformance, faults, identity' conformance.txt "$here/engine.test" -test.run "$conformance" \
		-test.skip "^(TestSoak|TestOpenClose)\$|$derived" $short -test.timeout 60m -test.v -stride $stride
	grep -E '^ *--- (FAIL|SKIP)' "$out/conformance.txt" | sort | uniq >"$out/conformance-failed-or-skipped.txt"
	expect='^--- PASS: TestPartGradients '
	step 'Derivatives, products, gradients by body' derivatives.txt "$here/engine.test" -test.run "$chosen" \
		-test.timeout 30m -test.v
	expect='^--- PASS: TestTwoEngines'
	step 'Facade: two engines, held batches' facade.txt "$here/clearance.test" -test.timeout 20m -test.v
fi
if wanted soak; then
	export CLEARANCE_SOAK=${soak}s
	expect='^--- PASS: TestSoak'
	step "Soak of the engine, $soak s" soak.txt "$here/engine.test" -test.run '^(TestSoak|TestOpenClose)$' \
		-test.timeout 60m -test.v
	step "Soak of the Vulkan layer, $soak s" soak-vk.txt "$here/vk.test" -test.run '^(TestSoak|TestOpenClose)$' \
		-test.timeout 60m -test.v
	unset CLEARANCE_SOAK
fi
if wanted link; then
	expect='^BenchmarkLink/up.* MB/s'
	step 'Bandwidth of the link' link.txt "$here/vk.test" -test.run '^$' \
		-test.bench '^(BenchmarkLink|BenchmarkSubmit)' -test.benchtime "$benchtime"
fi
# The bandwidths of the link in MB/s, as batchbench wants them; the best of the rounds.
link=()
if [ -e "$out/link.txt" ]; then
	rate() {
		awk -v name="BenchmarkLink/$1" '
			index($1, name) == 1 { for (i = 2; i <= NF; i++) if ($i == "MB/s" && $(i-1) > best) best = $(i-1) }
			END { if (best) print best }
		' "$out/link.txt"
	}
	up=$(rate up) down=$(rate down)
	[ -z "$up" ] || [ -z "$down" ] || link=(--link "$up,$down")
fi
if wanted run; then
	expect='^vulkan: .*: every answer is good'
	for precision in single double; do
		step "Every answer audited, $precision precision" "run-$precision.txt" "$here/batchbench" run \
			--backend vulkan --precision $precision --pairs "$pairs" --rounds "$rounds" --json "run-$precision.json"
	done
	step 'Every answer audited, Boolean' run-collide.txt "$here/batchbench" run --backend vulkan --query collide \
		--pairs "$pairs" --rounds "$rounds" --json "run-collide.json"
fi
if wanted throughput; then
	expect='pairs/call'
	measure=("$here/batchbench" throughput --backend vulkan --set "$sets" --sizes "$sizes" --time "$budget")
	measure+=("${link[@]}")
	for query in distance collide; do
		step "Throughput, $query, separated pairs" "throughput-$query-separated.txt" "${measure[@]}" \
			--query $query --separated --json "throughput-$query-separated.json"
	done
	step 'Throughput, penetration, penetrating pairs' throughput-penetration.txt "${measure[@]}" \
		--query penetration --penetrating --json throughput-penetration.json
	step 'Throughput, distance, all pairs' throughput-distance.txt "${measure[@]}" --json throughput-distance.json
fi

if ((${#failed[@]})); then
	printf '\n**Failed:** %s\n' "$(IFS=';'; echo "${failed[*]}")" >>"$report"
	printf 'gpu-run.sh: FAILED: %s\n' "${failed[@]}" >&2
	echo "gpu-run.sh: report: $report" >&2
	exit 1
fi
printf '\nEvery step passed.\n' >>"$report"
echo "gpu-run.sh: every step passed; report: $report"
